/*
 * holders SECONDS: threads that hold locks, each in a function of its own, and others that wait for
 * them and measure it. Prints the wait time for each holding function:
 *
 *	{"hold_running": [ns, waits], ...}
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "truth.h"

struct pair {
	const char *name;
	void (*take)(void), (*give)(void), (*wait)(void), (*hold)(void);
	long long ns, count;
	/* Whose turn it is: who waits begins when the lock is held. */
	atomic_int held;
};

static pthread_mutex_t run_lock = PTHREAD_MUTEX_INITIALIZER, sleep_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t write_lock = PTHREAD_RWLOCK_INITIALIZER;
static int64_t end;
static volatile uint64_t sink;

static void spend_ms(int64_t ms)
{
	int64_t until = wall_ns() + ms * 1000000;

	while (wall_ns() < until)
		sink += churn(sink, 100);
}

NOINLINE void hold_running(void)
{
	spend_ms(3);
	sink++;
}

NOINLINE void hold_sleeping(void)
{
	usleep(60000);
	sink++;
}

NOINLINE void hold_writing(void)
{
	spend_ms(3);
	sink++;
}

/* What a holder does when it is none any more. */
NOINLINE void work_without_lock(void)
{
	spend_ms(2);
	sink++;
}

static void take_run(void)
{
	pthread_mutex_lock(&run_lock);
}

static void give_run(void)
{
	pthread_mutex_unlock(&run_lock);
}

static void take_sleep(void)
{
	pthread_mutex_lock(&sleep_lock);
}

static void give_sleep(void)
{
	pthread_mutex_unlock(&sleep_lock);
}

static void take_write(void)
{
	pthread_rwlock_wrlock(&write_lock);
}

static void give_write(void)
{
	pthread_rwlock_unlock(&write_lock);
}

static void take_read(void)
{
	pthread_rwlock_rdlock(&write_lock);
}

static void *hold(void *argument)
{
	struct pair *p = argument;

	while (wall_ns() < end) {
		p->take();
		p->held = 1;
		p->hold();
		p->give();
		work_without_lock();
		while (p->held && wall_ns() < end)
			sched_yield();
	}
	p->held = 1;
	return NULL;
}

static void *wait_for(void *argument)
{
	struct pair *p = argument;

	while (wall_ns() < end) {
		int64_t start;

		while (!p->held && wall_ns() < end)
			usleep(100);
		start = wall_ns();
		p->wait();
		p->ns += wall_ns() - start;
		p->count++;
		p->give();
		p->held = 0;
	}
	return NULL;
}

int main(int argc, char **argv)
{
	static struct pair pairs[] = {
		{"hold_running", take_run, give_run, take_run, hold_running, 0, 0, 0},
		{"hold_sleeping", take_sleep, give_sleep, take_sleep, hold_sleeping, 0, 0, 0},
		{"hold_writing", take_write, give_write, take_read, hold_writing, 0, 0, 0},
	};
	enum { PAIRS = sizeof(pairs) / sizeof(pairs[0]) };
	pthread_t threads[PAIRS][2];

	end = wall_ns() + (int64_t)(atof(argc > 1 ? argv[1] : "2") * 1e9);
	for (int i = 0; i < PAIRS; i++) {
		pthread_create(&threads[i][0], NULL, hold, &pairs[i]);
		pthread_create(&threads[i][1], NULL, wait_for, &pairs[i]);
	}
	for (int i = 0; i < PAIRS; i++) {
		pthread_join(threads[i][0], NULL);
		pthread_join(threads[i][1], NULL);
		printf("%s\"%s\": [%lld, %lld]%s", i ? ", " : "{", pairs[i].name, pairs[i].ns,
		       pairs[i].count, i == PAIRS - 1 ? "}\n" : "");
	}
	return 0;
}
