/*
 * Clocks on the CPU time of a thread, which interrupt it for sampling (cpu_sampler.c).
 *
 * The timer is a POSIX timer. It fires at the kernel's tick (250 per second on most machines), in
 * user code and in the kernel, and needs no privileges.
 *
 * For rates above the tick there is also a perf event: exact to microseconds, with a descriptor per
 * thread, and not allowed everywhere. It samples only user code, because a signal raised inside
 * execve() would kill the new program, which has no handler. The timer still samples time in the
 * kernel. A thread without an event uses only the timer.
 *
 * An event fires once and is re-armed by the handler, so that at most one signal is pending in a
 * thread that blocks it. It does not use a real-time signal, because if the queue of these is full
 * the kernel sends SIGIO instead, which would kill the program.
 */
#pragma once

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "unwind/unwind_format.h"

struct thread_clock {
	int timer;	       /* the kernel's number */
	atomic_bool has_timer; /* of the thread's handler, and of whoever starts and ends it */
	_Atomic(s32) event;    /* its descriptor + 1; 0 = none */
	_Atomic(u64) event_id; /* id to recognize the descriptor */
	_Atomic(s64) event_ns; /* its current period */
	_Atomic(u64) random;
};

/* Whether this rate needs events, and the system allows them. */
bool clocks_want_events(s64 period_ns);
/* Sets the period and the signals; `event_signal` 0 = no events. The actual period is
 * clocks_period(): the requested one, or the tick. */
void clocks_set(s64 period_ns, int timer_signal, int event_signal);
/* 0 = stopped. Async-signal-safe, as all functions of one clock except starting it. */
s64 clocks_period(void);
/* Whether threads that start from now on get events. */
void clocks_use_events(bool use);

/* `value` is that of the timer's signal. */
void clock_start(struct thread_clock *c, int tid, void *value);
/* Adds an event to a thread with a timer, if events are used. */
void clock_start_event(struct thread_clock *c, int tid);
/* Stops the clock of the calling thread, and removes a pending blocked signal. */
void clock_end_event(struct thread_clock *c);
/* Stops a clock; pending signals then find no timer. May run concurrently for the end of the thread
 * and the end of sampling. */
void clock_end(struct thread_clock *c);
/* In the child of fork(): timers are not inherited, descriptors are. */
void clock_forget(struct thread_clock *c);

bool clock_has_event(const struct thread_clock *c);
/* Whether this signal is from the clock's event. */
bool clock_is_event(const struct thread_clock *c, const siginfo_t *info);
/* Re-arms it with a random period, so that periodic work is not in step with samples. */
void clock_vary_timer(struct thread_clock *c, u64 entropy);
void clock_vary_event(struct thread_clock *c, u64 entropy);
/* Whether it is overdue: its signal was lost, or its descriptor closed. */
void clock_revive_event(struct thread_clock *c);
