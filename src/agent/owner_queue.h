/*
 * A fair queue of jobs of several owners, of which one runs at a time. The next job belongs to the
 * owner that has used least so far; of its jobs, the one with the least weight, then the oldest. A
 * job that QUEUE_PASSED_MOST lighter ones have passed is the next one of its owner. So
 * an owner whose files are slow to read mainly delays its own jobs. A new owner, or one that
 * returns after a pause, starts level with the others: being idle earns no credit.
 */
#pragma once

#include "base/vec.h"
#include "unwind/unwind_format.h"

#define QUEUE_PASSED_MOST 256u

struct owner_job {
	u32 owner;
	u32 passed; /* by lighter ones that came later, as the oldest of its owner */
	u64 weight; /* estimated cost: the size of its file */
	u64 id;	    /* the caller's */
};

struct queue_owner {
	u32 owner;
	u32 waiting;
	u64 used;
	bool skipped; /* by owner_queue_pop_if, while it searches */
};

struct owner_queue {
	VEC(struct owner_job) jobs; /* in the order they came */
	VEC(struct queue_owner) owners;
	u64 floor; /* `used` of the owner served last, at that time */
};

void owner_queue_release(struct owner_queue *q);
enum err owner_queue_push(struct owner_queue *q, u32 owner, u64 weight, u64 id) MUST_CHECK;
/* False if the queue is empty. */
bool owner_queue_pop(struct owner_queue *q, struct owner_job *ret);
/* The same among the jobs that `may` accepts. */
bool owner_queue_pop_if(struct owner_queue *q, bool (*may)(void *context, u64 id), void *context,
			struct owner_job *ret);
/* Number of queued jobs of an owner. */
u32 owner_queue_waiting(const struct owner_queue *q, u32 owner);
/* Charges the actual cost of a job to its owner. */
void owner_queue_charge(struct owner_queue *q, u32 owner, u64 cost);
/* Whether a job of another owner is queued. */
bool owner_queue_others(const struct owner_queue *q, u32 owner);
/* Whether a job of `owner` is waiting that is less than half as heavy as this. */
bool owner_queue_lighter(const struct owner_queue *q, u32 owner, u64 weight);
