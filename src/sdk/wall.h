/*
 * Wall time of threads by stack and state, and number of threads by stack.
 *
 * Running time comes from CPU samples. The rest is examined in rounds at random times: for every
 * thread the kernel reports how long it ran and how long it waited for a CPU since the last round,
 * so the rest is exactly its sleep; it is attributed to the stack where it sleeps now (sleeper.h).
 * If it is running, its sleep is attributed when it is next found asleep. A thread that has not run
 * since still has the same stack, which costs one system call. A round examines a limited number of
 * threads; the others are left for the next, which then covers a longer time.
 *
 * Background thread only, but for wall_settle().
 */
#pragma once

#include "base/vec.h"
#include "sdk/sample_slots.h"
#include "sdk/tally.h"

/* 20 rounds per second on average. */
#define WALL_ROUND_NS 50000000

/* Subjects of rows of SAMPLE_WALL and SAMPLE_THREADS. */
enum thread_state {
	THREAD_RUNNING = 1,
	THREAD_RUNNABLE, /* waits for a CPU */
	THREAD_SLEEPING,
	THREAD_STATES
};

struct own_thread;

extern const char *const thread_state_names[THREAD_STATES];

struct wall_thread {
	int tid;
	bool found;    /* `stack` is its stack when it had used cpu_ns */
	u32 stack;     /* in the tally */
	u32 cpu_stack; /* + 1; of its last CPU sample */
	s64 cpu_ns;
	s64 seen_ns, seen_cpu_ns, seen_delay_ns; /* when it was looked at */
	s64 pending_ns;				 /* sleep not attributed yet */
};

struct wall {
	struct tally *tally;
	struct loaded *loaded;
	u32 depth;
	bool silent; /* sampling is paused: rounds continue, but nothing is reported */
	bool timed;  /* report time (`wall`); else only count threads */
	u32 next;    /* thread at which the next round begins */
	u64 random;
	int64_t counted_ns;		 /* when threads were counted in this window; 0 = not yet */
	VEC(struct wall_thread) threads; /* by number of record (own_threads.h) */
	/* A stack's number, from addresses; the first is the leaf. */
	enum err (*number)(void *context, const struct taken_sample *s, u32 *ret);
	void *context;
};

void wall_init(struct wall *w, struct tally *t, u32 depth, bool timed);
void wall_release(struct wall *w);
/* Runs a round; with `all`, over all threads. */
void wall_round(struct wall *w, bool all);
/* Counts all threads by stack and state, replacing the last count. */
void wall_count(struct wall *w);
/* Notes the stack of a thread's CPU sample. */
void wall_note(struct wall *w, u32 thread, u32 stack);
/* Begins a window: drops the counts, and with `stacks` the numbers of stacks. */
void wall_forget(struct wall *w, bool stacks);
/* Nanoseconds until the next round. */
s64 wall_pause(struct wall *w);
/* Call at the end of a thread: reports the rest of its time. */
void wall_settle(struct own_thread *t);
/* Whether threads must call that. */
void wall_settles(bool on);
