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
	bool seen; /* in the current look at the threads */
};

struct thread_timers {
	VEC(struct thread_timer) list;
	int64_t period_ns;
};

/* Looks which threads there are: new ones get a timer, of those that ended it is taken away. One
 * that cannot have one (the limit of pending signals) is left out. */
enum err thread_timers_update(struct thread_timers *t) MUST_CHECK;
void thread_timers_release(struct thread_timers *t);
