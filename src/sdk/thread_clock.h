/*
 * What interrupts a thread so that it is sampled (cpu_sampler.c): clocks on its CPU time.
 *
 * The timer is the kernel's. It fires with the clock tick (250 times a second on most machines) in
 * whatever the thread does, and needs nobody's leave.
 *
 * The event, for rates above the tick's, is a perf event: exact to microseconds, a descriptor for
 * each thread, and not allowed everywhere. It sees user code only: a signal that is raised inside
 * of execve() would meet the next program, which has no handler for it. The timer goes on beside it
 * and sees what happens in the kernel. Where a thread gets no event the timer does all of it.
 *
 * An event fires once and is set again by the handler, so that one signal at most waits for a
 * thread that blocks them. Its signal is none of the real-time ones: when the system has no room
 * for one of those it sends SIGIO instead, of which a program dies.
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
	_Atomic(u64) event_id; /* by which the descriptor is known */
	_Atomic(s64) event_ns; /* what it was set to */
	_Atomic(u64) random;
};

/* Whether samples so often need events, and the system allows them. */
bool clocks_want_events(s64 period_ns);
/* What is to be used from now on. With 0 as `event_signal` there are no events. The period that
 * samples have then is clocks_period(): what is asked, or the tick. */
void clocks_set(s64 period_ns, int timer_signal, int event_signal);
/* 0 = no timing now. Signal-safe, as all that takes one clock and is not said to start it. */
s64 clocks_period(void);
/* Events are set up for threads that start from now on, or not. */
void clocks_use_events(bool use);

/* `value` comes with the timer's signal. */
void clock_start(struct thread_clock *c, int tid, void *value);
/* For a thread that has a timer, where events are used. */
void clock_start_event(struct thread_clock *c, int tid);
/* Of the calling thread; also its signal, where that is blocked and waits. */
void clock_end_event(struct thread_clock *c);
/* Whose signals are under way finds no timer then. The thread's own end and the end of all timing
 * may meet here. */
void clock_end(struct thread_clock *c);
/* In the child of fork(): timers are not inherited, descriptors are. */
void clock_forget(struct thread_clock *c);

bool clock_has_event(const struct thread_clock *c);
/* Whether this signal is of the clock's event. */
bool clock_is_event(const struct thread_clock *c, const siginfo_t *info);
/* The next sample comes after a time that is no multiple of the last: work that repeats itself must
 * not run in step with samples. */
void clock_vary_timer(struct thread_clock *c, u64 entropy);
void clock_vary_event(struct thread_clock *c, u64 entropy);
/* It should have fired long ago: its signal went elsewhere, or its descriptor was closed. */
void clock_revive_event(struct thread_clock *c);
