/*
 * What a thread does on somebody's behalf: whose memory it takes, how much at most, and whether the
 * result is still wanted.
 *
 *	struct work_scope scope;
 *
 *	work_scope_begin(&scope, &(struct work_terms){.account = a, .use = MEMORY_WORKING,
 *						      .ceiling = ..., .stop = &stop});
 *	… everything that allocates …
 *	work_scope_end(&scope);
 *
 * Between the two, every allocation of the thread (base/alloc.h) counts: what it takes less what it
 * frees. The account is charged ahead, in steps. An allocation above the ceiling, or one for which
 * the account gets nothing, fails as if there were no memory; work_scope_error() says what it
 * really was. So no decoder and no query has to count for itself, and none can forget to.
 *
 * Long loops that allocate nothing call work_stopped() now and then. Outside of a scope it is
 * false, and nothing is counted.
 */
#pragma once

#include "base/memory_budget.h"

struct work_terms {
	struct memory_account *account; /* NULL: only the ceiling counts */
	enum memory_use use;
	size_t ceiling;		 /* 0 = none */
	const atomic_bool *stop; /* NULL = nobody stops it */
};

struct work_scope {
	struct work_terms terms;
	size_t used;	/* bytes that were taken and not freed, in this scope */
	size_t charged; /* to the account, at least `used` */
	size_t peak;
	bool eased;
	enum err error; /* of the first allocation that was refused */
	struct fault fault;
	struct work_scope *outer;
};

void work_scope_begin(struct work_scope *s, const struct work_terms *terms);
/* Gives back all that was charged. */
void work_scope_end(struct work_scope *s);
/* What is taken from now on is for another use: what is charged moves, too. */
void work_scope_use(enum memory_use use);
/* Charges the first `n` bytes ahead, waiting for others to give theirs back: nowhere else does a
 * scope wait, because its thread may hold locks. */
enum err work_scope_wait(struct work_scope *s, size_t n, int64_t deadline_ns,
			 struct fault *fault) MUST_CHECK;
/* This thread may take so much more than its ceiling: tables that others filled grow by half of
 * their size, or double, at anybody's next entry. */
void work_scope_allow(size_t n);
/* Nothing is refused any more, only counted: for the answer that says what was refused. */
void work_scope_ease(void);
/* What this thread takes is not its own for a while (a cache that it fills); to be handed back. */
struct work_scope *work_scope_leave(void) MUST_CHECK;
void work_scope_return(struct work_scope *s);
/* ERR_NO_MEMORY becomes the reason for which the scope refused, with its sentence; everything else
 * stays as it is. */
enum err work_scope_error(const struct work_scope *s, enum err error,
			  struct fault *fault) MUST_CHECK;
/* The scope of this thread, or NULL. */
struct work_scope *work_scope_now(void);

/* Whether somebody wants this thread's work to end: for loops that allocate nothing. */
bool work_stopped(void);
/* The same, looked at once in 4,096 rounds. */
static inline bool work_stopped_at(size_t round)
{
	return !(round & 4095) && work_stopped();
}
