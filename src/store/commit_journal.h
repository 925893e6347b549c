/*
 * Private to src/store: how many transactions each file of a tenant has, kept outside of the files.
 *
 * SQLite ends a log where a frame of it is damaged, and takes what comes after for never written:
 * without a second witness transactions that were acknowledged are missing and nothing says so. The
 * journal is that witness. After every commit, and before anybody is told of it, the number of the
 * commit is written to the file's slot: one write of 64 bytes, not synced. A process that is killed
 * leaves it to the kernel; what a power cut takes of it is the number of the last seconds, never
 * one that is too large, since a commit is on the disk before its number is written. It is synced
 * when a file gets its slot, when a file is removed, by the keeper, and at the end
 * (docs/decisions/0017).
 *
 *	DIR/<tenant>/commits
 *	0    16 bytes  "vestal commits\n\0"
 *	16   u64       version (1)
 *	24   u64       seal of the head; 32 bytes of 0
 *	64   slots of 128 bytes: two copies of 64, written in turn, so that a torn write leaves one
 *		u64 state (0 = free, 1 = there, 2 = being removed), kind, day, file, commits
 *		u64 seal, over these and the slot's number; 16 bytes of 0
 *
 * All numbers little endian. The seals are keyed by store and tenant. A slot none of whose copies
 * is valid says nothing: a file that is there is taken as it is, and `vestal check` reports it.
 *
 * The file is opened for each write: a store may have more tenants than a process may have files.
 *
 * Threads: any, it has a lock of its own, the innermost.
 */
#pragma once

#include "base/thread.h"
#include "base/vec.h"
#include "store/store_dir.h"

enum slot_state { SLOT_FREE, SLOT_THERE, SLOT_REMOVED };

struct commit_slot {
	enum slot_state state;
	int kind; /* enum day_kind, or LEDGER_CATALOG */
	int64_t day;
	uint64_t file, commits;
	bool damaged; /* neither copy can be read */
};

struct commit_journal {
	struct mutex lock;
	char *path;
	uint64_t key;
	bool dirty;   /* something is not synced */
	bool damaged; /* its head, or some slot */
	VEC(struct commit_slot) slots;
};

/* All there is; made when it is missing and `make`, else empty. */
enum err journal_open(struct commit_journal *j, const char *folder, uint64_t key, bool make,
		      struct fault *fault) MUST_CHECK;
void journal_close(struct commit_journal *j);
/* What is known of a file; false = nothing. */
bool journal_find(struct commit_journal *j, int kind, int64_t day, struct commit_slot *ret);
/* The file has so many commits. */
enum err journal_note(struct commit_journal *j, int kind, int64_t day, uint64_t file,
		      uint64_t commits, struct fault *fault) MUST_CHECK;
/* On the disk when it returns: the file is about to be removed; it is. */
enum err journal_removing(struct commit_journal *j, int kind, int64_t day,
			  struct fault *fault) MUST_CHECK;
enum err journal_removed(struct commit_journal *j, int kind, int64_t day,
			 struct fault *fault) MUST_CHECK;
/* On the disk, if anything changed. */
enum err journal_sync(struct commit_journal *j, struct fault *fault) MUST_CHECK;
