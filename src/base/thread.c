#include "base/thread.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <time.h>

#include "base/alloc.h"
#include "base/clock.h"

#define WORK_MAX_THREADS 256

/* What a new thread needs to know about itself; it frees this. */
struct beginning {
	void (*run)(void *);
	void *context;
	char name[16];
};

static void *begin(void *argument)
{
	struct beginning *b = argument;
	void (*run)(void *) = b->run;
	void *context = b->context;

	pthread_setname_np(pthread_self(), b->name);
	mem_free(b);
	run(context);
	return NULL;
}

/* Faults of the thread's own, and the signal that profilers use, still reach it. */
static void block_process_signals(sigset_t *ret_previous)
{
	static const int own[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGPROF};
	sigset_t all;

	sigfillset(&all);
	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		sigdelset(&all, own[i]);
	pthread_sigmask(SIG_SETMASK, &all, ret_previous);
}

enum err thread_start(struct thread *t, const char *name, void (*run)(void *), void *context)
{
	struct beginning *b = mem_zalloc(1, sizeof(*b));
	sigset_t previous;
	int failed;

	if (!b)
		return ERR_NO_MEMORY;
	b->run = run;
	b->context = context;
	memcpy(b->name, name, strnlen(name, sizeof(b->name) - 1));
	/* Set before the start and inherited: there is no moment without the mask. */
	block_process_signals(&previous);
	failed = pthread_create(&t->id, NULL, begin, b);
	pthread_sigmask(SIG_SETMASK, &previous, NULL);
	t->running = !failed;
	if (!failed)
		return ERR_OK;
	mem_free(b);
	return failed == EAGAIN ? ERR_NO_MEMORY : err_from_errno(failed);
}

void thread_lower_priority(int by)
{
	int before;

	/* Affects the calling thread only: on Linux `who` = 0 is the thread. */
	errno = 0;
	before = getpriority(PRIO_PROCESS, 0);
	if (!errno)
		(void)setpriority(PRIO_PROCESS, 0, before + by);
	errno = 0;
}

void thread_join(struct thread *t)
{
	if (!t->running)
		return;
	pthread_join(t->id, NULL);
	t->running = false;
}

unsigned thread_cpus(void)
{
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof(set), &set) == 0 && CPU_COUNT(&set) > 0)
		return (unsigned)CPU_COUNT(&set);
	return 1;
}

int thread_cpu(void)
{
	return sched_getcpu();
}

void thread_leave_cpu(int cpu)
{
	cpu_set_t allowed, others;

	if (cpu < 0 || cpu >= CPU_SETSIZE || sched_getcpu() != cpu ||
	    sched_getaffinity(0, sizeof(allowed), &allowed) < 0)
		return;
	others = allowed;
	CPU_CLR((size_t)cpu, &others);
	if (CPU_COUNT(&others) > 0 && sched_setaffinity(0, sizeof(others), &others) == 0)
		sched_setaffinity(0, sizeof(allowed), &allowed);
}

void mutex_init(struct mutex *m)
{
	*m = (struct mutex)MUTEX_INIT;
}

void mutex_release(struct mutex *m)
{
	pthread_mutex_destroy(&m->os);
}

void mutex_lock(struct mutex *m)
{
	pthread_mutex_lock(&m->os);
}

bool mutex_try(struct mutex *m)
{
	return pthread_mutex_trylock(&m->os) == 0;
}

void mutex_unlock(struct mutex *m)
{
	pthread_mutex_unlock(&m->os);
}

void cond_init(struct cond *c)
{
	pthread_condattr_t attributes;

	pthread_condattr_init(&attributes);
	/* A change of the calendar must not shorten or stretch a wait. */
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&c->os, &attributes);
	pthread_condattr_destroy(&attributes);
}

void cond_release(struct cond *c)
{
	pthread_cond_destroy(&c->os);
}

void cond_wait(struct cond *c, struct mutex *m)
{
	pthread_cond_wait(&c->os, &m->os);
}

bool cond_wait_until(struct cond *c, struct mutex *m, int64_t deadline_ns)
{
	struct timespec until = {deadline_ns / NS_PER_S, deadline_ns % NS_PER_S};

	return pthread_cond_timedwait(&c->os, &m->os, &until) != ETIMEDOUT;
}

void cond_signal(struct cond *c)
{
	pthread_cond_signal(&c->os);
}

void cond_broadcast(struct cond *c)
{
	pthread_cond_broadcast(&c->os);
}

struct work {
	enum err (*job)(void *context, size_t index);
	void *context;
	size_t jobs;
	atomic_size_t next;
	atomic_int error; /* the first one */
};

static void work_loop(void *argument)
{
	struct work *w = argument;
	size_t index;

	while (atomic_load(&w->error) == ERR_OK &&
	       (index = atomic_fetch_add(&w->next, 1)) < w->jobs) {
		int none = ERR_OK;
		enum err e = w->job(w->context, index);

		if (e)
			atomic_compare_exchange_strong(&w->error, &none, (int)e);
	}
}

enum err work_run(const char *name, size_t jobs, unsigned threads,
		  enum err (*job)(void *context, size_t index), void *context)
{
	struct work w = {.job = job, .context = context, .jobs = jobs};
	struct thread others[WORK_MAX_THREADS];
	unsigned started = 0;

	if (!threads)
		threads = thread_cpus();
	if (threads > WORK_MAX_THREADS)
		threads = WORK_MAX_THREADS;
	if (threads > jobs)
		threads = jobs ? (unsigned)jobs : 1;
	/* Fewer threads than asked for is slower, not wrong. */
	while (started + 1 < threads && !thread_start(&others[started], name, work_loop, &w))
		started++;
	work_loop(&w);
	while (started)
		thread_join(&others[--started]);
	return (enum err)atomic_load(&w.error);
}
