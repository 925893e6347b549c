/*
 * The stack of another thread of this process while it sleeps, without waking it.
 *
 * A signal would make system calls that are not restarted (poll, epoll_wait, nanosleep,
 * sem_timedwait ...) fail with EINTR, which many programs treat as an error. So the thread is not
 * woken: its registers come from /proc/self/task/N/syscall, and its stack is copied and unwound. If
 * its CPU clock is the same before and after, it did not run meanwhile, and the copy is consistent.
 *
 * That file does not have rbp. If a caller needs it and no callee has saved it, it is searched: the
 * first word above the stack pointer that looks like a saved rbp and with which the walk reaches
 * the root.
 *
 * Background thread only.
 */
#pragma once

#include "sdk/loaded.h"
#include "sdk/sample_slots.h"

enum sleeper_state {
	SLEEPER_GONE = 1, /* the thread has ended */
	SLEEPER_RUNS,	  /* or runnable */
	SLEEPER_SLEEPS,
	SLEEPER_HIDDEN, /* sleeps, but the stack is not available */
};

struct sleeper {
	u64 frames[SAMPLE_FRAMES_MAX];
	u32 count;
	s64 cpu_ns; /* CPU time of the thread at that time */
};

/* CPU time of a thread; -1 if it has ended. */
s64 sleeper_cpu_ns(int tid);
/* Nanoseconds it has waited for a CPU so far; 0 if the kernel does not count that. */
s64 sleeper_delay_ns(int tid);
/* Its state, without a stack. Thread safe. */
enum sleeper_state sleeper_is(int tid);
enum sleeper_state sleeper_look(struct loaded *l, int tid, u32 depth, struct sleeper *ret);
