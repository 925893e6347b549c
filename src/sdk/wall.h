/*
 * Where threads spend time, running or not, and how many of them are where.
 *
 * Running time is what CPU samples tell. The rest is looked at in rounds, at moments that are drawn
 * at random: of every thread the system tells how long it ran and how long it waited for a
 * processor since it was looked at before, so what is left is sleep, exactly; where it sleeps is
 * where it is found (sleeper.h). Who is found running keeps its sleep until it is found asleep. A
 * thread that has not run since is where it was: that costs one system call. A round looks closer
 * at a bounded number of threads; the others wait for the next, which then tells of a longer time.
 *
 * Background thread only, but for wall_settle().
 */
#pragma once

#include "base/vec.h"
#include "sdk/sample_slots.h"
#include "sdk/tally.h"

/* 20 rounds a second, on average. */
#define WALL_ROUND_NS 50000000

/* What rows of SAMPLE_WALL and SAMPLE_THREADS are about. */
enum thread_state {
	THREAD_RUNNING = 1,
	THREAD_RUNNABLE, /* wants to run and may not */
	THREAD_SLEEPING,
	THREAD_STATES
};

struct own_thread;

extern const char *const thread_state_names[THREAD_STATES];

struct wall_thread {
	int tid;
	bool found;    /* `stack` is where it stood when it had used cpu_ns */
	u32 stack;     /* in the tally */
	u32 cpu_stack; /* + 1; of its last CPU sample */
	s64 cpu_ns;
	s64 seen_ns, seen_cpu_ns, seen_delay_ns; /* when it was looked at */
	s64 pending_ns;				 /* slept, nobody knows where yet */
};

struct wall {
	struct tally *tally;
	struct loaded *loaded;
	u32 depth;
	bool silent; /* sampling pauses: looks go on, nothing is told */
	bool timed;  /* time is told (`wall`); else threads are only counted */
	u32 next;    /* where the next round begins */
	u64 random;
	int64_t counted_ns;		 /* when threads were counted in this window; 0 = not yet */
	VEC(struct wall_thread) threads; /* by number of record (own_threads.h) */
	/* A stack's number, from addresses; the first is the leaf. */
	enum err (*number)(void *context, const struct taken_sample *s, u32 *ret);
	void *context;
};

void wall_init(struct wall *w, struct tally *t, u32 depth, bool timed);
void wall_release(struct wall *w);
/* Looks at threads; with `all` at each of them. */
void wall_round(struct wall *w, bool all);
/* Counts all threads by stack and state; what was counted before goes. */
void wall_count(struct wall *w);
/* A CPU sample of a thread, whose stack is known now. */
void wall_note(struct wall *w, u32 thread, u32 stack);
/* Another window: what was counted is gone. With `stacks` their numbers are as well. */
void wall_forget(struct wall *w, bool stacks);
/* Nanoseconds until the next round. */
s64 wall_pause(struct wall *w);
/* The calling thread ends: what no round has told of it. */
void wall_settle(struct own_thread *t);
/* Whether threads have to settle. */
void wall_settles(bool on);
