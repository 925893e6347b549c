/*
 * Lock waits (mutex, rwlock, spin lock) and other waits (condition, semaphore), sampled by length
 * (poisson.h): sums are unbiased for waits of every length, with about one sample per interval of
 * waiting. A sample has the stack of the waiting thread.
 *
 * With too many samples per second the interval is increased, and lowered again later. A wait is
 * weighted by the interval at its time, so that sums stay unbiased.
 */
#pragma once

#include <stdatomic.h>

#include "sdk/alloc_sampler.h"
#include "sdk/lock_holder.h"
#include "sdk/sample_slots.h"

/* Whether waits are timed at all. */
extern atomic_bool lock_timed;

void lock_start(u64 interval_ns, u32 depth);
void lock_stop(void);
/* Records a wait of this length. `kind` is SAMPLE_LOCK or SAMPLE_BLOCK. Preserves errno. */
void lock_waited(u8 kind, const volatile void *lock, s64 ns, const struct alloc_caller *caller);
/* The length from which a wait of this thread that begins now becomes a sample; 0 = never. */
s64 lock_sample_after(void);
/* The same for a lock whose holder was asked (lock_holder.h; 0 = not asked). */
void lock_waited_for(const volatile void *lock, s64 ns, const struct alloc_caller *caller,
		     u32 question);
/* Call every `turn_ns`: adjusts the interval by the samples since the last call. */
void lock_turn(s64 turn_ns);
/* The current interval, for tests. */
u64 lock_interval(void);
