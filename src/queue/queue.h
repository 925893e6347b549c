/*
 * A bounded persistent queue of byte strings. Other folders include this header only.
 *
 * An entry on disk is one file, written under a temporary name and renamed, with its size and a
 * checksum in front, so that an entry is returned complete or not at all, also after kill -9, a
 * power cut or a full disk. If the disk is full, entries stay in memory, within a separate limit,
 * and are written later. When the queue is full, the oldest entry is dropped and counted.
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
 * An entry that was sent without queue_done is returned again after a restart: delivery is at least
 * once. One thread uses a queue at a time, and one program a directory.
 */
#pragma once

#include "base/buf.h"
#include "base/err.h"

struct queue;

struct queue_options {
	/* Created if missing, with its parents, with mode 0700. NULL = memory only. */
	const char *directory;
	size_t max_bytes;   /* on disk */
	size_t max_memory;  /* in memory */
	size_t max_entries; /* entries in total */
	/* Called for every entry before it is dropped for lack of room; or NULL. */
	void (*dropping)(void *context, struct str bytes);
	void *context;
};

struct queue_stats {
	uint64_t entries, bytes;	       /* on disk */
	uint64_t memory_entries, memory_bytes; /* in memory */
	uint64_t dropped;		       /* dropped for lack of room */
	uint64_t damaged;		       /* incomplete entries, or of another version */
	uint64_t disk_faults;		       /* failed writes */
	enum err last_disk_fault; /* last error of a write; ERR_OK after a successful one */
};

/* Entries left in the directory are returned first. */
enum err queue_open(const struct queue_options *o, struct queue **ret,
		    struct fault *fault) MUST_CHECK;
/* Keeps entries on disk, and tries to write those in memory. */
void queue_close(struct queue *q);
/* ERR_TOO_LARGE if it exceeds the limit of the queue; counted as dropped. */
enum err queue_push(struct queue *q, struct str bytes) MUST_CHECK;
/* Appends the oldest entry that is not taken to `ret`; ERR_NOT_FOUND if there is none. */
enum err queue_take(struct queue *q, struct buf *ret, uint64_t *ret_id) MUST_CHECK;
/* Removes the entry. */
void queue_done(struct queue *q, uint64_t id);
/* Returns the entry to the front of the queue. */
void queue_put_back(struct queue *q, uint64_t id);
bool queue_is_empty(const struct queue *q);
void queue_stats(const struct queue *q, struct queue_stats *ret);
