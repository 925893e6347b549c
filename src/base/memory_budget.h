/*
 * One memory budget for a whole process, and who holds how much of it.
 *
 *	budget ── account of a tenant ── use (received, decompressed, decoded, …)
 *
 * Whoever takes memory on behalf of a tenant charges it first and gives it back later; a charge
 * that does not fit is refused, so that the process stays below its limit. Three rules decide:
 *
 * - One account holds at most half of the limit, beside what is cached for it.
 * - The last quarter of the limit is for accounts that hold little (a sixteenth of the limit at
 *   most, beside what is cached): a tenant that fills the budget leaves room for the others.
 * - A use may have a ceiling of its own, over all accounts.
 *
 * Memory that nobody charges (libraries, fragments of the heap) is measured now and then
 * (memory_budget_measured) and counted as if it were charged.
 *
 * Caches register themselves. When an account uses three quarters of what it may hold, or all
 * together three quarters of the limit, memory_budget_shrink(), which one thread of the owner
 * calls, asks them to shrink, in the first case what they keep for that account; those who wait in
 * memory_charge_wait() get what becomes free. No lock is held while a cache is asked, and charging
 * never calls a cache: it may be done under any lock.
 *
 * All functions may be called from any thread.
 */
#pragma once

#include <stdatomic.h>

#include "base/err.h"
#include "base/str.h"

enum memory_use {
	MEMORY_RECEIVED,     /* bodies of requests, as they arrive */
	MEMORY_DECOMPRESSED, /* what they unpack to */
	MEMORY_DECODED,	     /* what decoding makes of it */
	MEMORY_WORKING,	     /* what answering a query takes */
	MEMORY_CACHED,	     /* kept to be faster, and given up first */
	MEMORY_UNSENT,	     /* answers that the client has not taken yet */
	MEMORY_CONNECTIONS,  /* heads of requests, sessions, TLS */
	MEMORY_USES_
};

struct memory_budget;
struct memory_account;

enum err memory_budget_new(size_t limit, struct memory_budget **ret) MUST_CHECK;
/* Every account must have been let go of. NULL is fine. */
void memory_budget_free(struct memory_budget *b);
/* What all accounts together may hold of one use; SIZE_MAX = as much as the rest allows. */
void memory_budget_set_ceiling(struct memory_budget *b, enum memory_use use, size_t ceiling);

/* The account of that name, made when it is missing; a reference to it. */
enum err memory_account_get(struct memory_budget *b, struct str name,
			    struct memory_account **ret) MUST_CHECK;
/* One more reference. NULL gives NULL. */
struct memory_account *memory_account_keep(struct memory_account *a);
/* Lets go of one; what is charged keeps an account alive as well. NULL is fine. */
void memory_account_put(struct memory_account *a);

/* ------------------------------------------------------------------ charging */

/* ERR_BUSY, with a sentence, when it does not fit now; ERR_TOO_LARGE when it never would. */
enum err memory_charge(struct memory_account *a, enum memory_use use, size_t n,
		       struct fault *fault) MUST_CHECK;
/* The same, waiting until the deadline (monotonic), or until `stop` (NULL = never) is set. */
enum err memory_charge_wait(struct memory_account *a, enum memory_use use, size_t n,
			    int64_t deadline_ns, const atomic_bool *stop,
			    struct fault *fault) MUST_CHECK;
/* For memory that exists already: always charged, also above the limit. */
void memory_take(struct memory_account *a, enum memory_use use, size_t n);
void memory_give_back(struct memory_account *a, enum memory_use use, size_t n);

/* Bytes charged to an account, with a reference to it: they go wherever the memory goes. All zero
 * holds nothing. */
struct memory_hold {
	struct memory_account *account;
	enum memory_use use;
	size_t n;
};
/* Holds `n` bytes more or fewer than before, without asking. `account` may be NULL: nothing. */
void memory_hold_set(struct memory_hold *h, struct memory_account *account, enum memory_use use,
		     size_t n);
/* Asks for what is more. On failure nothing changes. */
enum err memory_hold_grow(struct memory_hold *h, struct memory_account *account,
			  enum memory_use use, size_t n, struct fault *fault) MUST_CHECK;
/* Gives it back; harmless when it holds nothing. */
void memory_hold_release(struct memory_hold *h);

/* ------------------------------------------------------------------ caches and the rest */

/* Gives up about `wanted` bytes that it keeps for that account, or for any one when the name is
 * empty; returns how many it did. */
typedef size_t memory_shrink(void *context, struct str account, size_t wanted);
/* At most 16. In the order in which they are asked; before the first charge. */
enum err memory_budget_add_cache(struct memory_budget *b, memory_shrink *shrink,
				 void *context) MUST_CHECK;
/* Asks the caches while an account, or all together, uses more than three quarters. True:
 * something became free. */
bool memory_budget_shrink(struct memory_budget *b);
/* The process has so many bytes in memory: what is more than was charged counts, too. */
void memory_budget_measured(struct memory_budget *b, size_t resident);

/* ------------------------------------------------------------------ looking */

struct memory_figures {
	size_t used, peak; /* peak: since the account was made */
	size_t by_use[MEMORY_USES_];
	size_t refused; /* charges that did not fit */
};
struct memory_budget_figures {
	size_t limit;
	size_t measured; /* not charged by anybody, but there */
	size_t waited;	 /* charges that had to wait */
	size_t shrunk;	 /* bytes that caches gave up */
	struct memory_figures all;
};
struct memory_budget_figures memory_budget_look(struct memory_budget *b);
struct memory_figures memory_account_look(struct memory_account *a);
/* Calls `each` with every account, in no order; not to charge from there. */
void memory_budget_each(struct memory_budget *b,
			void (*each)(void *context, struct str name, struct memory_figures figures),
			void *context);
/* "received" */
const char *memory_use_name(enum memory_use use);
