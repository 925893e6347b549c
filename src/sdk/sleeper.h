/*
 * The stack of another thread of this process while it sleeps, without waking it.
 *
 * A signal would end system calls that the kernel does not begin again (poll, epoll_wait,
 * nanosleep, sem_timedwait ...) with EINTR, which many a program takes for a failure. So nobody is
 * woken: the kernel tells where a sleeping thread stands (/proc/self/task/N/syscall), the stack is
 * copied, and the copy is walked. A thread whose CPU clock is the same before and after has not run
 * meanwhile, so that what was copied belongs together.
 *
 * The kernel does not tell rbp. Where a caller needs it and no callee has saved it, it is looked
 * for: the first place above the stack pointer that looks like a saved rbp and from which the walk
 * comes to the stack's root.
 *
 * Background thread only.
 */
#pragma once

#include "sdk/loaded.h"
#include "sdk/sample_slots.h"

enum sleeper_state {
	SLEEPER_GONE = 1, /* there is no such thread any more */
	SLEEPER_RUNS,	  /* or wants to */
	SLEEPER_SLEEPS,
	SLEEPER_HIDDEN, /* sleeps; the system does not tell where */
};

struct sleeper {
	u64 frames[SAMPLE_FRAMES_MAX];
	u32 count;
	s64 cpu_ns; /* of the thread, when it was looked at */
};

/* CPU time of a thread; -1 when it is gone. */
s64 sleeper_cpu_ns(int tid);
/* Nanoseconds it has waited for a processor so far; 0 where the system does not count. */
s64 sleeper_delay_ns(int tid);
/* What it does, without where. Any thread. */
enum sleeper_state sleeper_is(int tid);
enum sleeper_state sleeper_look(struct loaded *l, int tid, u32 depth, struct sleeper *ret);
