/*
 * Reading ahead: a second thread reads and decompresses the next files while the first decodes.
 * Inflating is half of the work of merging many files, so this nearly halves the time.
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
	const char *compression;
	size_t file_bytes;
	bool filled; /* the file was tried */
	bool good;
};

struct readahead {
	const struct text_list *names;
	size_t max_bytes;
	struct thread worker;
	struct mutex lock;
	struct cond changed;
	size_t next_claim; /* index into names: nobody has begun to read this one or later ones */
	size_t next_take;  /* at most READAHEAD_SLOTS behind next_claim */
	bool stop;
	struct readahead_slot slots[READAHEAD_SLOTS];
};

/* Begins with names[first]. Few names, one processor: then nothing is read ahead. */
void readahead_start(struct readahead *r, const struct text_list *names, size_t first,
		     size_t max_bytes);
/* Takes file `index`, waiting while it is being read; indices come in order. False: read it
 * yourself, because it failed, or because the other thread has not begun it yet. */
bool readahead_take(struct readahead *r, size_t index, struct readahead_slot *ret);
void readahead_stop(struct readahead *r);
