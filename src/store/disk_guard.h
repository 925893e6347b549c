/*
 * Whether the disk accepts writes, and a reserve for when it does not.
 *
 * DIR/.reserve holds files whose blocks are allocated. When the disk is full, each can be freed,
 * with its inode, so that a delete can write its transaction and its line in the audit log, and
 * queries can open files (SQLite creates two more for each that it opens). Meanwhile uploads are
 * refused; once there is space, the reserve is rebuilt first, and then they are accepted again.
 *
 * Only a write proves that the disk accepts writes: it is tried at the start, after 30 seconds
 * without an upload, and every second while the disk is in trouble.
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
	uint64_t file_bytes; /* size of a reserve file */
	/* Written under the lock, read without it, so that reading the state never waits for the
	 * disk. */
	_Atomic(enum store_disk_state) state;
	_Atomic(unsigned) held;	    /* existing reserve files */
	_Atomic(int64_t) proved_ns; /* monotonic time of the last successful write */
	_Atomic(uint64_t) free_bytes, total_bytes;
	_Atomic(int64_t) since_ns;
};

/* Checks for the first time; fails only if out of memory. */
enum err disk_guard_open(struct disk_guard *g, const char *directory) MUST_CHECK;
void disk_guard_close(struct disk_guard *g);

/* Checks again; true if the state has changed. `wall_ns` is for `since_ns`. */
bool disk_guard_look(struct disk_guard *g, int64_t wall_ns);
/* Call after a failed write: determines the cause. True if the state has changed. */
bool disk_guard_failed(struct disk_guard *g, enum err error, int64_t wall_ns);
/* Call after a successful write. */
void disk_guard_proved(struct disk_guard *g);
/* Frees this many reserve files, but keeps `least`; false if there are none to free. */
bool disk_guard_give(struct disk_guard *g, unsigned files, unsigned least);

static inline bool disk_guard_refuses(const struct disk_guard *g)
{
	return atomic_load_explicit(&g->state, memory_order_relaxed) != STORE_DISK_OK;
}
void disk_guard_tell(struct disk_guard *g, struct store_disk *ret);
