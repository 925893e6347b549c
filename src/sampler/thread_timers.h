/*
 * A timer for every thread of this process, on the clock of the thread's CPU time.
 */
#pragma once

#include <time.h>

#include "base/err.h"
#include "base/vec.h"

#define THREAD_TIMERS_MAX 4096

struct thread_timer {
	int thread;
	timer_t id;
	bool seen; /* seen in the current scan */
};

struct thread_timers {
	VEC(struct thread_timer) list;
	int64_t period_ns;
};

/* Scans the threads: creates timers for new ones and deletes those of ended ones. A thread for
 * which that fails (limit of pending signals) is not sampled. */
enum err thread_timers_update(struct thread_timers *t) MUST_CHECK;
void thread_timers_release(struct thread_timers *t);
