/*
 * The memory budget of the whole process, split by account (tenant) and use.
 *
 *	budget ── account of a tenant ── use (received, decompressed, decoded, …)
 *
 * Code that allocates memory on behalf of a tenant charges it first and releases the charge later.
 * A charge that does not fit is refused, so that the process stays below its limit:
 *
 * - One account may hold at most half of the limit, not counting caches.
 * - The last quarter of the limit is reserved for small accounts (at most a sixteenth of the
 *   limit, not counting caches), so that a tenant that fills the budget leaves room for others.
 * - A use may have a ceiling of its own, over all accounts.
 *
 * Uncharged memory (libraries, heap fragmentation) is measured periodically
 * (memory_budget_measured) and counts as charged.
 *
 * Caches register a shrink function. When an account uses three quarters of what it may hold, or
 * all together three quarters of the limit, memory_budget_shrink(), called by one thread of the
 * owner, asks the caches to shrink; in the first case only for that account. Threads in
 * memory_charge_wait() get the memory that becomes free. Caches are called without locks held, and
 * charging never calls a cache, so it may be done under any lock.
 *
 * Thread safe.
 */
#pragma once

#include <stdatomic.h>

#include "base/err.h"
#include "base/str.h"

enum memory_use {
	MEMORY_RECEIVED,     /* request bodies as received */
	MEMORY_DECOMPRESSED, /* decompressed request bodies */
	MEMORY_DECODED,	     /* decoded data */
	MEMORY_WORKING,	     /* working memory of queries */
	MEMORY_CACHED,	     /* caches, released first */
	MEMORY_UNSENT,	     /* replies not yet read by the client */
	MEMORY_CONNECTIONS,  /* request headers, sessions, TLS */
	MEMORY_USES_
};

struct memory_budget;
struct memory_account;

enum err memory_budget_new(size_t limit, struct memory_budget **ret) MUST_CHECK;
/* All account references must have been released. NULL is allowed. */
void memory_budget_free(struct memory_budget *b);
/* Limits one use over all accounts; SIZE_MAX = no limit of its own. */
void memory_budget_set_ceiling(struct memory_budget *b, enum memory_use use, size_t ceiling);

/* Takes a reference to the account of that name, which is created if missing. */
enum err memory_account_get(struct memory_budget *b, struct str name,
			    struct memory_account **ret) MUST_CHECK;
/* One more reference. NULL gives NULL. */
struct memory_account *memory_account_keep(struct memory_account *a);
/* Releases a reference; outstanding charges keep an account alive, too. NULL is allowed. */
void memory_account_put(struct memory_account *a);

/* ------------------------------------------------------------------ charging */

/* ERR_BUSY, with a message, if it does not fit now; ERR_TOO_LARGE if it can never fit. */
enum err memory_charge(struct memory_account *a, enum memory_use use, size_t n,
		       struct fault *fault) MUST_CHECK;
/* The same, but waits for room until the deadline (monotonic), or until `stop` (may be NULL) is
 * set. */
enum err memory_charge_wait(struct memory_account *a, enum memory_use use, size_t n,
			    int64_t deadline_ns, const atomic_bool *stop,
			    struct fault *fault) MUST_CHECK;
/* Charges memory that already exists: never refused, even above the limit. */
void memory_take(struct memory_account *a, enum memory_use use, size_t n);
void memory_give_back(struct memory_account *a, enum memory_use use, size_t n);

/* Bytes charged to an account, with a reference to it, to be stored next to the memory itself. All
 * zero is a valid empty hold. */
struct memory_hold {
	struct memory_account *account;
	enum memory_use use;
	size_t n;
};
/* Sets the charge to `n` bytes; never refused. `account` NULL: no charge. */
void memory_hold_set(struct memory_hold *h, struct memory_account *account, enum memory_use use,
		     size_t n);
/* Raises the charge to `n` bytes if it fits. On failure nothing changes. */
enum err memory_hold_grow(struct memory_hold *h, struct memory_account *account,
			  enum memory_use use, size_t n, struct fault *fault) MUST_CHECK;
/* Releases the charge; may be empty. */
void memory_hold_release(struct memory_hold *h);

/* ------------------------------------------------------------------ caches and the rest */

/* Frees about `wanted` bytes cached for that account, or for any account if the name is empty;
 * returns how many it freed. */
typedef size_t memory_shrink(void *context, struct str account, size_t wanted);
/* Registers a cache, at most 16, before the first charge. Caches are asked in order of
 * registration. */
enum err memory_budget_add_cache(struct memory_budget *b, memory_shrink *shrink,
				 void *context) MUST_CHECK;
/* Asks the caches to shrink while an account, or the total, is above three quarters. True if memory
 * became free. */
bool memory_budget_shrink(struct memory_budget *b);
/* Reports the resident memory of the process; the part above all charges counts as used. */
void memory_budget_measured(struct memory_budget *b, size_t resident);

/* ------------------------------------------------------------------ looking */

struct memory_figures {
	size_t used, peak; /* since the account was created */
	size_t by_use[MEMORY_USES_];
	size_t refused; /* number of refused charges */
};
struct memory_budget_figures {
	size_t limit;
	size_t measured; /* resident memory that is not charged */
	size_t waited;	 /* number of charges that had to wait */
	size_t shrunk;	 /* bytes freed by caches */
	struct memory_figures all;
};
struct memory_budget_figures memory_budget_look(struct memory_budget *b);
struct memory_figures memory_account_look(struct memory_account *a);
/* Calls `each` for every account, in no order; it must not charge. */
void memory_budget_each(struct memory_budget *b,
			void (*each)(void *context, struct str name, struct memory_figures figures),
			void *context);
/* "received" */
const char *memory_use_name(enum memory_use use);
