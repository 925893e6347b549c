#include "sampler/thread_timers.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>

#include "base/clock.h"
#include "base/str.h"

/* glibc has the member, but not always its name. */
#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

/* The kernel's id of a thread's CPU clock: pthread_getcpuclockid() needs a pthread_t, which is
 * unknown for threads found in /proc. */
static clockid_t cpu_clock(int thread)
{
	enum { SCHEDULER = 2, OF_THREAD = 4 };

	return (clockid_t)(~(unsigned)thread << 3 | OF_THREAD | SCHEDULER);
}

static bool start_timer(struct thread_timers *t, struct thread_timer *timer)
{
	struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGPROF};
	struct timespec period = {t->period_ns / NS_PER_S, t->period_ns % NS_PER_S};
	struct itimerspec when = {period, period};

	event.sigev_notify_thread_id = timer->thread;
	if (timer_create(cpu_clock(timer->thread), &event, &timer->id) != 0)
		return false;
	if (timer_settime(timer->id, 0, &when, NULL) == 0)
		return true;
	timer_delete(timer->id);
	return false;
}

static enum err see_thread(struct thread_timers *t, int thread)
{
	struct thread_timer timer = {.thread = thread, .seen = true};

	vec_for_each (known, &t->list) {
		if (known->thread != thread)
			continue;
		known->seen = true;
		return ERR_OK;
	}
	if (t->list.n == THREAD_TIMERS_MAX)
		return ERR_OK;
	TRY(vec_reserve(&t->list, 1));
	if (start_timer(t, &timer))
		t->list.v[t->list.n++] = timer;
	return ERR_OK;
}

static enum err look(struct thread_timers *t, DIR *threads)
{
	struct dirent *entry;

	while ((entry = readdir(threads))) {
		int64_t thread;

		if (str_to_i64(str_of(entry->d_name), &thread) == ERR_OK && thread > 0)
			TRY(see_thread(t, (int)thread));
	}
	return ERR_OK;
}

static void drop_ended(struct thread_timers *t)
{
	size_t kept = 0;

	for (size_t i = 0; i < t->list.n; i++) {
		if (t->list.v[i].seen)
			t->list.v[kept++] = t->list.v[i];
		else
			timer_delete(t->list.v[i].id);
	}
	t->list.n = kept;
}

enum err thread_timers_update(struct thread_timers *t)
{
	DIR *threads = opendir("/proc/self/task");
	enum err e;

	if (!threads)
		return err_from_errno(errno);
	vec_for_each (timer, &t->list)
		timer->seen = false;
	e = look(t, threads);
	closedir(threads);
	if (!e)
		drop_ended(t);
	return e;
}

void thread_timers_release(struct thread_timers *t)
{
	vec_for_each (timer, &t->list)
		timer_delete(timer->id);
	vec_release(&t->list);
}
