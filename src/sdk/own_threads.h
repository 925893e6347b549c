/*
 * The sampled threads of this process: each has a record and clocks on its CPU time.
 *
 * Records are in one block of memory that is never freed, so that a late signal always finds one,
 * perhaps reused for another thread. A record is created by the thread itself (threads_enter, if
 * thread creation is intercepted) or by the background thread, which scans /proc/self/task.
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
	atomic_bool asked;	   /* a request is pending (lock_holder.h) */
	_Atomic(s64) accounted_ns; /* CPU time covered by samples and kernel_ns */
	_Atomic(s64) kernel_ns;	   /* CPU time in the kernel, not yet covered by a sample */
	_Atomic(s64) counted_ns;   /* remainder of the covered time, less than a period */
	void *(*start)(void *);	   /* start function, if known */
	s64 born_ns, born_cpu_ns;  /* when it registered itself; 0 = it did not */
	_Atomic(s64) wall_ns;	   /* off-CPU time reported so far (wall.h) */
	bool settled;		   /* all of it was reported */
	/* Written by the thread; `context` is consistent if `stable` is not 0. */
	volatile sig_atomic_t stable;
	struct span_context context;
	u32 depth; /* of spans */
	struct span_context outer[SPAN_DEPTH];
	/* If needed (span_ends.h): start of the spans, time of the last sample. */
	s64 began[SPAN_DEPTH], sampled;
	struct thread_record record; /* a copy for other threads */
};

/* Allocates the memory, once. */
bool threads_open(void);
/* Starts the clocks: period and signals (which must be installed; thread_clock.h). */
void threads_start(s64 period_ns, int timer_signal, int event_signal);
/* Call in a child of fork(): its threads get events if the parent's had. */
void threads_use_events(void);
/* Stops all clocks. Records stay, for spans. */
void threads_stop(void);
/* The record of a thread of this process, or NULL. Async-signal-safe. */
struct own_thread *threads_find(int tid);
/* The calling thread's record, created if necessary; NULL if there is no room. */
struct own_thread *threads_self(void);
/* The same without creating one. Async-signal-safe. */
struct own_thread *threads_known(void);
/* Call at the start of a thread; starts its clock if sampling is on. */
void threads_enter(void *(*start)(void *));
/* Call at the end of a thread; the uncovered CPU time becomes one more sample (cpu_sampler.h). */
void threads_leave(void);
/* Scans the threads. */
enum err threads_look(void) MUST_CHECK;
/* The record for a timer signal; NULL if the signal is not ours. Async-signal-safe. */
struct own_thread *threads_of_signal(const siginfo_t *info);
/* The same for an event's signal. */
struct own_thread *threads_of_event(const siginfo_t *info);
/* A thread's number, counted from 1. */
u32 threads_number(const struct own_thread *t);
/* The clock of a thread's CPU time. */
clockid_t thread_cpu_clock(int tid);
/* CPU time of the calling thread. Async-signal-safe. */
s64 thread_cpu_ns(void);
/* Call before exec(), so that the new program receives none of our signals; and if exec() failed.
 */
void threads_before_exec(void);
void threads_exec_failed(void);
void threads_before_fork(void);
void threads_after_fork(bool child);
/* Excludes a thread of the library. */
void threads_exclude_self(void);
u32 threads_count(void);
/* Calls `each` for every thread, with its start function; 0 = unknown. */
void threads_each(void (*each)(void *context, u64 start), void *context);
/* Access by index: number of records, the thread of one (0 = none), and the record, which may be
 * reused for another thread at any time. */
u32 threads_used(void);
int threads_tid(u32 number);
struct own_thread *threads_record(u32 number);
