/*
 * Work of a thread on behalf of a tenant: the account charged for its memory, a memory limit, and
 * cancellation.
 *
 *	struct work_scope scope;
 *
 *	work_scope_begin(&scope, &(struct work_terms){.account = a, .use = MEMORY_WORKING,
 *						      .ceiling = ..., .stop = &stop});
 *	… everything that allocates …
 *	work_scope_end(&scope);
 *
 * In between, all allocations of the thread (base/alloc.h) are counted, minus what it frees. The
 * account is charged ahead, in steps. An allocation above the ceiling, or one that the account
 * cannot be charged for, fails like any failed allocation; work_scope_error() gives the real
 * reason. So decoders and queries need no accounting of their own.
 *
 * Long loops without allocations should call work_stopped() regularly. Outside of a scope it is
 * false, and nothing is counted.
 */
#pragma once

#include "base/memory_budget.h"

struct work_terms {
	struct memory_account *account; /* NULL: only the ceiling applies */
	enum memory_use use;
	size_t ceiling;		 /* 0 = none */
	const atomic_bool *stop; /* NULL = cannot be cancelled */
};

struct work_scope {
	struct work_terms terms;
	size_t used;	/* bytes allocated in this scope and not freed */
	size_t charged; /* bytes charged to the account, at least `used` */
	size_t peak;
	bool eased;
	enum err error; /* of the first allocation that was refused */
	struct fault fault;
	struct work_scope *outer;
};

void work_scope_begin(struct work_scope *s, const struct work_terms *terms);
/* Releases the charge. */
void work_scope_end(struct work_scope *s);
/* Changes the use, also of what is already charged. */
void work_scope_use(enum memory_use use);
/* Charges the first `n` bytes ahead, and waits for memory if necessary. Later allocations never
 * wait, because the thread may hold locks. */
enum err work_scope_wait(struct work_scope *s, size_t n, int64_t deadline_ns,
			 struct fault *fault) MUST_CHECK;
/* Raises the thread's ceiling by this much, for the growth of shared tables, which grow by half of
 * their size or double with any new entry. */
void work_scope_allow(size_t n);
/* From now on only counts and refuses nothing: for building the error response. */
void work_scope_ease(void);
/* Suspends the scope, while the thread fills a shared cache; returns it for work_scope_return. */
struct work_scope *work_scope_leave(void) MUST_CHECK;
void work_scope_return(struct work_scope *s);
/* Replaces ERR_NO_MEMORY by the reason why the scope refused memory, with a message; other errors
 * are unchanged. */
enum err work_scope_error(const struct work_scope *s, enum err error,
			  struct fault *fault) MUST_CHECK;
/* The scope of this thread, or NULL. */
struct work_scope *work_scope_now(void);

/* Whether the work was cancelled or its deadline has passed: for loops without allocations. */
bool work_stopped(void);
/* The same, evaluated once per 4,096 calls. */
static inline bool work_stopped_at(size_t round)
{
	return !(round & 4095) && work_stopped();
}
