/*
 * Reading ahead: a second thread reads, decompresses and hashes the next files. What is left for
 * the first is what must happen in the order of the files: look-ups in the dictionary, and rows.
 * As that is little, the first thread also reads ahead instead of waiting, and both are busy.
 *
 * Only plain files of moderate size are read ahead; anything else, and anything that fails, is
 * left to the caller, who then says what is wrong.
 */
#pragma once

#include "base/thread.h"
#include "cli/options.h"
#include "format/format.h"

#define READAHEAD_SLOTS 8

struct readahead_slot {
	struct buf plain;
	struct prepared prepared; /* of plain; its state is NULL where nothing can be prepared */
	const char *compression;
	size_t file_bytes;
	bool filled; /* the file was tried */
	bool good;
};

/* What the files are read for. */
struct readahead_target {
	const struct dict *dict;     /* where they will go */
	const struct format *format; /* NULL = by content */
	size_t max_bytes;
};

struct readahead {
	const struct text_list *names;
	struct readahead_target target;
	struct thread worker;
	int taker_cpu; /* where the thread that takes them was when this began */
	struct mutex lock;
	struct cond changed;
	size_t next_claim; /* index into names: nobody has begun to read this one or later ones */
	size_t next_take;  /* at most READAHEAD_SLOTS behind next_claim */
	bool stop;
	struct readahead_slot slots[READAHEAD_SLOTS];
};

/* Begins with names[first]. Few names, one processor: then nothing is read ahead. */
void readahead_start(struct readahead *r, const struct text_list *names, size_t first,
		     struct readahead_target target);
/* Takes file `index`; indices come in order. While it is being read, others are read here. False:
 * read it yourself, because that failed or was not worth trying. */
bool readahead_take(struct readahead *r, size_t index, struct readahead_slot *ret);
void readahead_slot_release(struct readahead_slot *slot);
void readahead_stop(struct readahead *r);
