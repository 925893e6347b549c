/*
 * Jobs of several owners, of which one is done at a time: next is always the lightest job, of those
 * the oldest, of the owner who has used least. So an owner whose files are slow to read delays
 * mostly the reading of its own. Who comes anew, or after a pause, begins where the others are:
 * nobody saves up by waiting.
 */
#pragma once

#include "base/vec.h"
#include "unwind/unwind_format.h"

struct fair_job {
	u32 owner;
	u64 weight; /* what is known of it beforehand: the size of its file */
	u64 id;	    /* the caller's */
};

struct fair_owner {
	u32 owner;
	u32 waiting;
	u64 used;
};

struct fair_queue {
	VEC(struct fair_job) jobs; /* in the order they came */
	VEC(struct fair_owner) owners;
	u64 floor; /* what the owner served last had used then */
};

void fair_queue_release(struct fair_queue *q);
enum err fair_queue_push(struct fair_queue *q, u32 owner, u64 weight, u64 id) MUST_CHECK;
/* False when there is none. */
bool fair_queue_pop(struct fair_queue *q, struct fair_job *ret);
/* What a job has cost. */
void fair_queue_charge(struct fair_queue *q, u32 owner, u64 cost);
/* Whether anybody but `owner` waits. */
bool fair_queue_others(const struct fair_queue *q, u32 owner);
