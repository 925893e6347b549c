/*
 * Threads: named, so that ps, perf and gdb show what they do, and deaf to signals that are meant
 * for the process (SIGINT, SIGTERM …), so that the main thread gets those.
 */
#pragma once

#include <pthread.h>

#include "base/err.h"

struct thread {
	pthread_t id;
	bool running;
};

/* `name` has at most 15 bytes that show. The thread must be joined. */
enum err thread_start(struct thread *t, const char *name, void (*run)(void *),
		      void *context) MUST_CHECK;
/* Waits for its end; harmless when it does not run. */
void thread_join(struct thread *t);
/* This thread lets others have the CPU first, for good: a nice value of so much more. */
void thread_lower_priority(int by);
/* Processors this process may use, at least 1. */
unsigned thread_cpus(void);
/*
 * Which processor the caller is on, and off that one once: a new thread often begins on that of its
 * creator and shares it for some milliseconds, while others are idle. Neither keeps it from being
 * moved again.
 */
int thread_cpu(void);
void thread_leave_cpu(int cpu);

struct mutex {
	pthread_mutex_t os;
};

struct cond {
	pthread_cond_t os;
};

#define MUTEX_INIT                                          \
	{                                                   \
		.os = PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP \
	}

void mutex_init(struct mutex *m);
void mutex_release(struct mutex *m);
void mutex_lock(struct mutex *m);
/* True when nobody else has it. */
bool mutex_try(struct mutex *m) MUST_CHECK;
void mutex_unlock(struct mutex *m);

void cond_init(struct cond *c);
void cond_release(struct cond *c);
void cond_wait(struct cond *c, struct mutex *m);
/* False when clock_monotonic_ns() reached `deadline_ns` first. */
bool cond_wait_until(struct cond *c, struct mutex *m, int64_t deadline_ns);
void cond_signal(struct cond *c);
void cond_broadcast(struct cond *c);

/*
 * Runs job(context, 0) … job(context, jobs - 1) on up to `threads` threads (0 = one per
 * processor), the calling one among them, and returns when all are done. The first failure keeps
 * the jobs not yet begun from running and is returned. Jobs run in no particular order, except
 * that one thread takes them in turn.
 */
enum err work_run(const char *name, size_t jobs, unsigned threads,
		  enum err (*job)(void *context, size_t index), void *context) MUST_CHECK;
