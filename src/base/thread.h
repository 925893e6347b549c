/*
 * Threads. They are named, so that ps, perf and gdb show what they do, and block signals that are
 * meant for the process (SIGINT, SIGTERM …), so that the main thread gets those.
 */
#pragma once

#include <pthread.h>

#include "base/err.h"

struct thread {
	pthread_t id;
	bool running;
};

/* Only the first 15 bytes of `name` are used. The thread must be joined. */
enum err thread_start(struct thread *t, const char *name, void (*run)(void *),
		      void *context) MUST_CHECK;
/* Waits for the thread to end; does nothing if it is not running. */
void thread_join(struct thread *t);
/* Raises the nice value of the calling thread, permanently. */
void thread_lower_priority(int by);
/* Number of CPUs this process may use, at least 1. */
unsigned thread_cpus(void);
/*
 * The CPU of the caller; and moving the caller off it, once. A new thread often starts on the CPU
 * of its creator and shares it for some milliseconds while others are idle. The thread is not
 * pinned.
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
/* True if it was free and is now locked. */
bool mutex_try(struct mutex *m) MUST_CHECK;
void mutex_unlock(struct mutex *m);

void cond_init(struct cond *c);
void cond_release(struct cond *c);
void cond_wait(struct cond *c, struct mutex *m);
/* False if clock_monotonic_ns() reached `deadline_ns` first. */
bool cond_wait_until(struct cond *c, struct mutex *m, int64_t deadline_ns);
void cond_signal(struct cond *c);
void cond_broadcast(struct cond *c);

/*
 * Runs job(context, 0) … job(context, jobs - 1) on up to `threads` threads (0 = one per CPU), the
 * calling one among them, and returns when all are done. After the first failure, which is
 * returned, no further jobs are started. Jobs run in no particular order, except that a single
 * thread runs them in order of index.
 */
enum err work_run(const char *name, size_t jobs, unsigned threads,
		  enum err (*job)(void *context, size_t index), void *context) MUST_CHECK;
