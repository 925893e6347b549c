/*
 * Waits for locks (mutex, rwlock, spin lock) and for others (condition, semaphore), sampled by the
 * time they took (poisson.h): a wait of any length stands for itself on average, and there are
 * about as many samples as intervals of waiting. Who waited is the caller's stack.
 *
 * Where there are too many samples a second the interval grows, and shrinks again later. A wait is
 * weighted by the interval that it was drawn with, so that sums stay true.
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
/* A wait has ended that took so long. `kind` is SAMPLE_LOCK or SAMPLE_BLOCK. Keeps errno. */
void lock_waited(u8 kind, const volatile void *lock, s64 ns, const struct alloc_caller *caller);
/* So long must a wait of this thread that begins now be to become a sample; 0 = none will. */
s64 lock_sample_after(void);
/* The same for a lock whose holder was asked then (lock_holder.h; 0 = it was not). */
void lock_waited_for(const volatile void *lock, s64 ns, const struct alloc_caller *caller,
		     u32 question);
/* Every `turn_ns`: sets the interval by what came since the last call. */
void lock_turn(s64 turn_ns);
/* The interval in use now, for tests. */
u64 lock_interval(void);
