/*
 * What the locks (preload_locks.c) and the events that are waited for (preload_blocks.c) share: is
 * it timed, since when, and who asks.
 */
#pragma once

#include <time.h>

#include "base/clock.h"
#include "sdk/interpose.h"
#include "sdk/lock_sampler.h"
#include "sdk/preload.h"

#define likely(x) __builtin_expect(!!(x), 1)
#define NOINLINE  __attribute__((noinline))

typedef const struct timespec *deadline;

/* A library that begins before us may want a lock. What this libc does not have nobody calls. */
#define FOUND(member) (likely(real.member) || (preload_find_locks(), real.member))

static inline bool timed(void)
{
	return atomic_load_explicit(&lock_timed, memory_order_relaxed);
}

static inline s64 now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * NS_PER_S + t.tv_nsec;
}

/* Runs a call that waits, and tells how long it took. In a function that is not inlined: its frame
 * says who called. */
#define TIMED(kind, lock, call)                                    \
	do {                                                       \
		struct alloc_caller caller_ = ALLOC_CALLER;        \
		s64 start_ = now();                                \
		int result_ = call;                                \
                                                                   \
		lock_waited(kind, lock, now() - start_, &caller_); \
		return result_;                                    \
	} while (0)

/* A call with another clock is refused, be the lock free or not. */
static inline bool is_clock(clockid_t clock)
{
	return clock == CLOCK_MONOTONIC || clock == CLOCK_REALTIME;
}
