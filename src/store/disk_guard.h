/*
 * Whether the disk takes writes, and a reserve for the moment it does not.
 *
 * DIR/.reserve holds files whose blocks are allocated. When nothing can be written any more, each
 * of them gives back its bytes and an inode, so that a delete can write its transaction and its
 * line of the audit log, and questions can open files (SQLite makes two files beside each that it
 * opens). While there is trouble uploads are refused; once there is room again the reserve is
 * rebuilt first, and then they are taken.
 *
 * Only a write proves that a disk takes writes: at the start, every half a minute in which nothing
 * was stored, and every second of trouble.
 *
 * Thread safe.
 */
#pragma once

#include <stdatomic.h>

#include "base/thread.h"
#include "store/store.h"

#define RESERVE_FILES 16

struct disk_guard {
	struct mutex lock; /* held over I/O */
	char *directory;
	uint64_t file_bytes; /* of one file of the reserve */
	/* Written with the lock, and read without: nobody waits for a disk to see how it is. */
	_Atomic(enum store_disk_state) state;
	_Atomic(unsigned) held;	    /* files of the reserve that are there */
	_Atomic(int64_t) proved_ns; /* monotonic time of the last write that worked */
	_Atomic(uint64_t) free_bytes, total_bytes;
	_Atomic(int64_t) since_ns;
};

/* Looks for the first time; fails only without memory. */
enum err disk_guard_open(struct disk_guard *g, const char *directory) MUST_CHECK;
void disk_guard_close(struct disk_guard *g);

/* Looks again; true when the state has changed. `wall_ns` is for `since_ns`. */
bool disk_guard_look(struct disk_guard *g, int64_t wall_ns);
/* A write failed: finds out why. True when the state has changed. */
bool disk_guard_failed(struct disk_guard *g, enum err error, int64_t wall_ns);
/* A write worked. */
void disk_guard_proved(struct disk_guard *g);
/* Gives up so many files of the reserve, but keeps `least`; false when there is none to give. */
bool disk_guard_give(struct disk_guard *g, unsigned files, unsigned least);

static inline bool disk_guard_refuses(const struct disk_guard *g)
{
	return atomic_load_explicit(&g->state, memory_order_relaxed) != STORE_DISK_OK;
}
void disk_guard_tell(struct disk_guard *g, struct store_disk *ret);
