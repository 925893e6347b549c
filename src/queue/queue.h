/*
 * A bounded queue of byte strings that outlives the program. Other folders include this header
 * only.
 *
 * An entry on disk is one file, written beside its place and renamed, with its size and a checksum
 * in front: whatever happens meanwhile (kill -9, a power cut, a full disk), an entry is handed out
 * whole or not at all. Where the disk cannot take an entry it is kept in memory, within a bound of
 * its own, and written when there is room again. When the queue is full the oldest goes first, and
 * is counted.
 *
 *	struct buf bytes = BUF_INIT(…);
 *	uint64_t id;
 *
 *	while (queue_take(q, &bytes, &id) == ERR_OK) {
 *		if (!send(&bytes)) {
 *			queue_put_back(q, id);
 *			break;
 *		}
 *		queue_done(q, id);
 *	}
 *
 * A program that ends between sending and queue_done finds the entry again: it is delivered at
 * least once. One thread uses a queue at a time, and one program uses a directory.
 */
#pragma once

#include "base/buf.h"
#include "base/err.h"

struct queue;

struct queue_options {
	/* Made when it is not there, with what is above it; belongs to this user alone. NULL =
	 * memory only. */
	const char *directory;
	size_t max_bytes;   /* on disk */
	size_t max_memory;  /* of what is not on disk */
	size_t max_entries; /* in all */
	/* Told of every entry that goes for want of room, before it goes; or NULL. */
	void (*dropping)(void *context, struct str bytes);
	void *context;
};

struct queue_stats {
	uint64_t entries, bytes;	       /* that wait on disk */
	uint64_t memory_entries, memory_bytes; /* and in memory */
	uint64_t dropped;		       /* the oldest, for want of room */
	uint64_t damaged;	  /* entries that were not whole, or of another version */
	uint64_t disk_faults;	  /* times the disk did not take an entry */
	enum err last_disk_fault; /* ERR_OK once one was written again */
};

/* What is in the directory from before is handed out first. */
enum err queue_open(const struct queue_options *o, struct queue **ret,
		    struct fault *fault) MUST_CHECK;
/* Leaves what is on disk where it is; what is in memory is tried once more to be written. */
void queue_close(struct queue *q);
/* ERR_TOO_LARGE when it is larger than the queue may be: counted as dropped. */
enum err queue_push(struct queue *q, struct str bytes) MUST_CHECK;
/* Appends the oldest entry that is not taken to `ret`; ERR_NOT_FOUND when there is none. */
enum err queue_take(struct queue *q, struct buf *ret, uint64_t *ret_id) MUST_CHECK;
/* The entry is not needed any more. */
void queue_done(struct queue *q, uint64_t id);
/* It is: it comes first again. */
void queue_put_back(struct queue *q, uint64_t id);
bool queue_is_empty(const struct queue *q);
void queue_stats(const struct queue *q, struct queue_stats *ret);
