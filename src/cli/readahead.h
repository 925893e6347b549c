/*
 * Reading ahead: a second thread reads, decompresses and hashes the next files. The first thread
 * does what must happen in the order of the files: dictionary lookups and rows. That is little
 * work, so it also reads ahead instead of waiting.
 *
 * Only regular files of moderate size are read ahead; others, and those that fail, are left to the
 * caller, who reports the error.
 */
#pragma once

#include "base/thread.h"
#include "cli/options.h"
#include "format/format.h"

#define READAHEAD_SLOTS 8

struct readahead_slot {
	struct buf plain;
	struct prepared prepared; /* of `plain`; its state is NULL if nothing could be prepared */
	const char *compression;
	size_t file_bytes;
	bool filled; /* reading was attempted */
	bool good;
};

/* What to prepare the files for. */
struct readahead_target {
	const struct dict *dict;     /* their destination */
	const struct format *format; /* NULL = by content */
	size_t max_bytes;
};

struct readahead {
	const struct text_list *names;
	struct readahead_target target;
	struct thread worker;
	int taker_cpu; /* position of the consuming thread at the start */
	struct mutex lock;
	struct cond changed;
	size_t next_claim; /* index into names: this one and later ones are not claimed yet */
	size_t next_take;  /* at most READAHEAD_SLOTS less than next_claim */
	bool stop;
	struct readahead_slot slots[READAHEAD_SLOTS];
};

/* Starts with names[first]. With few names, or on one CPU, nothing is read ahead. */
void readahead_start(struct readahead *r, const struct text_list *names, size_t first,
		     struct readahead_target target);
/* Takes file `index`; indices come in order. While it is being read, others are read here. False:
 * the caller must read it, because reading failed or was not attempted. */
bool readahead_take(struct readahead *r, size_t index, struct readahead_slot *ret);
void readahead_slot_release(struct readahead_slot *slot);
void readahead_stop(struct readahead *r);
