/*
 * Jobs of several owners, of which one runs at a time. Next is the owner that has used least; of
 * its jobs the lightest, then the oldest. An owner whose files are slow to read mostly delays its
 * own jobs. An owner that is new, or returns after a pause, starts level with the others, so that
 * nobody saves up by waiting.
 */
#pragma once

#include "base/vec.h"
#include "unwind/unwind_format.h"

struct owner_job {
	u32 owner;
	u64 weight; /* known beforehand: the size of its file */
	u64 id;	    /* the caller's */
};

struct queue_owner {
	u32 owner;
	u32 waiting;
	u64 used;
};

struct owner_queue {
	VEC(struct owner_job) jobs; /* in the order they came */
	VEC(struct queue_owner) owners;
	u64 floor; /* what the owner served last had used then */
};

void owner_queue_release(struct owner_queue *q);
enum err owner_queue_push(struct owner_queue *q, u32 owner, u64 weight, u64 id) MUST_CHECK;
/* False when there is none. */
bool owner_queue_pop(struct owner_queue *q, struct owner_job *ret);
/* Adds what a job has cost to its owner. */
void owner_queue_charge(struct owner_queue *q, u32 owner, u64 cost);
/* Whether a job of anybody but `owner` is waiting. */
bool owner_queue_others(const struct owner_queue *q, u32 owner);
