/*
 * Private to src/store: the number of committed transactions of each file of a tenant, kept outside
 * those files.
 *
 * When SQLite finds a damaged frame in a write-ahead log, it silently ignores the rest of the log.
 * Acknowledged transactions would disappear without an error. The journal detects that: after every
 * commit, and before the client gets its reply, the commit number is written to the file's slot
 * (one 64-byte write, not synced). It survives a killed process because the kernel has the page.
 * After a power cut a number may be some seconds old, but it is never too large, since the commit
 * is synced before its number is written. The journal is synced when a file gets its slot, when a
 * file is removed, by the keeper, and on close (docs/decisions/0017).
 *
 *	DIR/<tenant>/commits
 *	0    16 bytes  "vestal commits\n\0"
 *	16   u64       version (1)
 *	24   u64       seal of the header; 32 zero bytes
 *	64   slots of 128 bytes: two copies of 64 bytes, written alternately so that a torn write
 *		leaves one intact
 *		u64 state (0 = free, 1 = file exists, 2 = being removed), kind, day, file, commits
 *		u64 seal over these and the slot number; 16 zero bytes
 *
 * All numbers are little endian. The seals are keyed by store and tenant. If both copies of a slot
 * are invalid, the file is trusted without a check, and `vestal check` reports the slot.
 *
 * The journal is opened for each write, because a store may have more tenants than a process may
 * have open files.
 *
 * Thread safe. Its lock is the innermost.
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
	bool damaged; /* both copies are invalid */
};

struct commit_journal {
	struct mutex lock;
	char *path;
	uint64_t key;
	bool dirty;   /* has writes that are not synced */
	bool damaged; /* the header or a slot */
	VEC(struct commit_slot) slots;
};

/* Reads all slots. A missing file is created if `make`, else it counts as empty. */
enum err journal_open(struct commit_journal *j, const char *folder, uint64_t key, bool make,
		      struct fault *fault) MUST_CHECK;
void journal_close(struct commit_journal *j);
/* The slot of a file; false if it has none. */
bool journal_find(struct commit_journal *j, int kind, int64_t day, struct commit_slot *ret);
/* Records the commit number of a file. */
enum err journal_note(struct commit_journal *j, int kind, int64_t day, uint64_t file,
		      uint64_t commits, struct fault *fault) MUST_CHECK;
/* Record, and sync, that a file is about to be removed, and that it was removed. */
enum err journal_removing(struct commit_journal *j, int kind, int64_t day,
			  struct fault *fault) MUST_CHECK;
enum err journal_removed(struct commit_journal *j, int kind, int64_t day,
			 struct fault *fault) MUST_CHECK;
/* Syncs if there are unsynced writes. */
enum err journal_sync(struct commit_journal *j, struct fault *fault) MUST_CHECK;
