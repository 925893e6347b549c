/*
 * Shared by locks (preload_locks.c) and conditions and semaphores (preload_blocks.c): timing and
 * caller of a wait.
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

/* A library initialized before us may use locks. Functions missing in this libc are never
 * called. */
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

/* Runs a call that waits, and records its duration. Use it in a function that is not inlined, so
 * that its frame identifies the caller. */
#define TIMED(kind, lock, call)                                    \
	do {                                                       \
		struct alloc_caller caller_ = ALLOC_CALLER;        \
		s64 start_ = now();                                \
		int result_ = call;                                \
                                                                   \
		lock_waited(kind, lock, now() - start_, &caller_); \
		return result_;                                    \
	} while (0)

/* A call with an invalid clock fails, even if the lock is free. */
static inline bool is_clock(clockid_t clock)
{
	return clock == CLOCK_MONOTONIC || clock == CLOCK_REALTIME;
}
