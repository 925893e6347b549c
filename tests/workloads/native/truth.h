/*
 * How a workload tells what it really did: time per function, measured by itself, printed as JSON
 * when it ends.
 */
#pragma once

#include <stdint.h>
#include <stdio.h>
#include <time.h>

#ifdef __clang__
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noinline, noclone))
#endif

static inline int64_t now_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Processor time of this thread. */
static inline int64_t cpu_ns(void)
{
	return now_ns(CLOCK_THREAD_CPUTIME_ID);
}

static inline int64_t wall_ns(void)
{
	return now_ns(CLOCK_MONOTONIC);
}

/* Something the compiler can neither leave out nor foresee. */
static inline uint64_t churn(uint64_t x, int rounds)
{
	for (int i = 0; i < rounds; i++)
		x = x * 6364136223846793005ull + 1442695040888963407ull;
	__asm__ volatile("" : "+r"(x));
	return x;
}
