/*
 * The threads of this process that are sampled: a record and clocks on its CPU time for each.
 *
 * Records lie in one piece of memory that is never given back, so that a late signal finds one, be
 * it another thread's by now. A thread gets its record from itself (threads_enter, where something
 * tells us of its birth) or from the background that looks through /proc/self/task.
 */
#pragma once

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <time.h>

#include "base/err.h"
#include "sdk/shared_context.h"
#include "sdk/span_context.h"
#include "sdk/thread_clock.h"

#define SPAN_DEPTH 16

struct own_thread {
	struct thread_clock clock;
	bool seen;
	atomic_bool asked;	   /* a question is under way (lock_holder.h) */
	_Atomic(s64) accounted_ns; /* CPU time that samples stand for, or kernel_ns */
	_Atomic(s64) kernel_ns;	   /* CPU time in the kernel that waits for a sample there */
	_Atomic(s64) counted_ns;   /* of what samples stand for, less than a period */
	void *(*start)(void *);	   /* where it began, when that is known */
	s64 born_ns, born_cpu_ns;  /* when it was first known of, from itself; 0 = not */
	_Atomic(s64) wall_ns;	   /* of its time that it did not run: what was told (wall.h) */
	bool settled;		   /* all of it was */
	/* Of the thread itself; `context` is whole where `stable` is not 0. */
	volatile sig_atomic_t stable;
	struct span_context context;
	u32 depth; /* of spans */
	struct span_context outer[SPAN_DEPTH];
	/* Where it is wanted (span_ends.h): when spans began, when the last sample was taken. */
	s64 began[SPAN_DEPTH], sampled;
	struct thread_record record; /* the same for others to read */
};

/* Takes memory from the system, once. */
bool threads_open(void);
/* Begins to time threads: period, and the signals (installed before; thread_clock.h). */
void threads_start(s64 period_ns, int timer_signal, int event_signal);
/* A child of fork() stays what it is: its threads get events where others have them. */
void threads_use_events(void);
/* Ends all clocks. Records stay: spans go on. */
void threads_stop(void);
/* The record of a thread of this process, or NULL. Signal-safe. */
struct own_thread *threads_find(int tid);
/* The calling thread's record, made if need be; NULL when there is no more room. */
struct own_thread *threads_self(void);
/* The same without making one. Signal-safe. */
struct own_thread *threads_known(void);
/* The calling thread begins; its clock starts when timing is on. */
void threads_enter(void *(*start)(void *));
/* The calling thread ends: what no sample stands for is one more (cpu_sampler.h). */
void threads_leave(void);
/* Looks which threads there are. */
enum err threads_look(void) MUST_CHECK;
/* A timer's record from its signal; NULL when the signal is not ours. Signal-safe. */
struct own_thread *threads_of_signal(const siginfo_t *info);
/* The same for an event's signal. */
struct own_thread *threads_of_event(const siginfo_t *info);
/* A thread's number, from 1. */
u32 threads_number(const struct own_thread *t);
/* The clock of a thread's CPU time. */
clockid_t thread_cpu_clock(int tid);
/* CPU time of the calling thread. Signal-safe. */
s64 thread_cpu_ns(void);
/* The calling thread becomes another program, which must not meet a signal of ours; or that failed.
 */
void threads_before_exec(void);
void threads_exec_failed(void);
void threads_before_fork(void);
void threads_after_fork(bool child);
/* A thread of our own, which is not timed. */
void threads_exclude_self(void);
u32 threads_count(void);
/* Calls back for each thread, with the function it began with; 0 = that is not known. */
void threads_each(void (*each)(void *context, u64 start), void *context);
/* Records from 0 on: how many there may be, the thread of one (0 = none), and the record, which may
 * become another thread's at any time. */
u32 threads_used(void);
int threads_tid(u32 number);
struct own_thread *threads_record(u32 number);
