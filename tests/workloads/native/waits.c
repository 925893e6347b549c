/*
 * Waits of every kind that pthread has, each in a function of its own that measures it:
 *	waits SECONDS INTERVAL_NS
 * There are fewer than 2000 of them a second, so that a library need not take fewer samples.
 * Prints for each function its time, its number of waits, and the variance that sampling by delay
 * with this interval has: {"wait_mutex": [ns, count, variance], ...}
 */
#define _GNU_SOURCE
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <unistd.h>

#include "truth.h"

struct waits {
	const char *name;
	void (*wait)(void);
	void (*hold)(void);
	double ns, count, variance;
	int asks; /* who holds it: a library may change its length by that */
};

pthread_mutex_t ledger_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t *heap_lock, short_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t timed_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t news_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t read_lock = PTHREAD_RWLOCK_INITIALIZER,
			write_lock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t news = PTHREAD_COND_INITIALIZER;
static pthread_spinlock_t spin;
static sem_t semaphore;
static int64_t end;
static double interval;
static _Thread_local struct waits *current;
static _Thread_local uint32_t dice = 1;

static void pause_us(uint32_t most)
{
	dice = dice * 1664525u + 1013904223u;
	usleep(most / 4 + (dice >> 8) % most);
}

static void spend_us(int64_t most)
{
	int64_t until = wall_ns() + most * 1000;

	while (wall_ns() < until)
		;
}

static struct timespec soon(clockid_t clock)
{
	int64_t then = now_ns(clock) + 3000000000;

	return (struct timespec){then / 1000000000, then % 1000000000};
}

static void measured(int64_t start)
{
	double ns = (double)(wall_ns() - start), p = -expm1(-ns / interval);

	/* Nobody had to wait. */
	if (ns < 1000)
		return;
	current->ns += ns;
	current->count++;
	current->variance += current->asks ? interval * interval * p : ns * ns * (1 - p) / p;
}

/* ---- each kind: who waits, and whom it waits for ---- */

#define WAIT(name, before, call, after) \
	NOINLINE void wait_##name(void) \
	{                               \
		int64_t start;          \
                                        \
		before;                 \
		start = wall_ns();      \
		call;                   \
		measured(start);        \
		after;                  \
	}

#define HOLD(name, lock, how, unlock) \
	static void hold_##name(void) \
	{                             \
		lock;                 \
		how;                  \
		unlock;               \
		pause_us(100);        \
	}

WAIT(mutex, pause_us(500), pthread_mutex_lock(&ledger_lock), pthread_mutex_unlock(&ledger_lock))
HOLD(mutex, pthread_mutex_lock(&ledger_lock), pause_us(20000), pthread_mutex_unlock(&ledger_lock))
WAIT(heap_mutex, pause_us(500), pthread_mutex_lock(heap_lock), pthread_mutex_unlock(heap_lock))
HOLD(heap_mutex, pthread_mutex_lock(heap_lock), pause_us(20000), pthread_mutex_unlock(heap_lock))
WAIT(read, pause_us(500), pthread_rwlock_rdlock(&read_lock), pthread_rwlock_unlock(&read_lock))
HOLD(read, pthread_rwlock_wrlock(&read_lock), pause_us(20000), pthread_rwlock_unlock(&read_lock))
WAIT(write, pause_us(500), pthread_rwlock_wrlock(&write_lock), pthread_rwlock_unlock(&write_lock))
HOLD(write, pthread_rwlock_rdlock(&write_lock), pause_us(20000), pthread_rwlock_unlock(&write_lock))
WAIT(condition, pthread_mutex_lock(&news_lock), pthread_cond_wait(&news, &news_lock),
     pthread_mutex_unlock(&news_lock))
HOLD(condition, , pause_us(20000), pthread_cond_signal(&news))
WAIT(semaphore, , sem_wait(&semaphore), )
HOLD(semaphore, , pause_us(20000), sem_post(&semaphore))
WAIT(spin, pause_us(20000), pthread_spin_lock(&spin), pthread_spin_unlock(&spin))
HOLD(spin, pthread_spin_lock(&spin), pause_us(1000), pthread_spin_unlock(&spin))

/* Not what it takes to be preempted without a wait: on a busy machine that is longer than these. */
NOINLINE void wait_short(void)
{
	pause_us(2000);
	if (pthread_mutex_trylock(&short_lock) != 0) {
		int64_t start = wall_ns();

		pthread_mutex_lock(&short_lock);
		measured(start);
	}
	pthread_mutex_unlock(&short_lock);
}

static void hold_short(void)
{
	pthread_mutex_lock(&short_lock);
	spend_us(20);
	pthread_mutex_unlock(&short_lock);
	spend_us(5);
}

NOINLINE void wait_timed_mutex(void)
{
	struct timespec until = soon(CLOCK_REALTIME);
	int64_t start;

	pause_us(500);
	start = wall_ns();
	if (!pthread_mutex_timedlock(&timed_lock, &until))
		pthread_mutex_unlock(&timed_lock);
	measured(start);
}
HOLD(timed_mutex, pthread_mutex_lock(&timed_lock), pause_us(20000),
     pthread_mutex_unlock(&timed_lock))

NOINLINE void wait_for_timeout(void)
{
	struct timespec until = soon(CLOCK_MONOTONIC);
	static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
	int64_t start;

	until.tv_sec -= 3;
	pthread_mutex_lock(&mutex);
	start = wall_ns();
	until.tv_nsec += 5000000;
	if (until.tv_nsec >= 1000000000) {
		until.tv_nsec -= 1000000000;
		until.tv_sec++;
	}
	if (pthread_cond_clockwait(&never, &mutex, CLOCK_MONOTONIC, &until) != ETIMEDOUT)
		abort();
	measured(start);
	pthread_mutex_unlock(&mutex);
}

static void hold_nothing(void)
{
	pause_us(100000);
}

#define BOTH(name, asks)                                               \
	{                                                              \
		"wait_" #name, wait_##name, hold_##name, 0, 0, 0, asks \
	}

static struct waits all[] = {
	BOTH(mutex, 1),	      BOTH(heap_mutex, 1),
	BOTH(short, 1),	      BOTH(read, 1),
	BOTH(write, 1),	      BOTH(condition, 0),
	BOTH(semaphore, 0),   BOTH(spin, 0),
	BOTH(timed_mutex, 0), {"wait_for_timeout", wait_for_timeout, hold_nothing, 0, 0, 0, 0}};

static void *waiter(void *one)
{
	current = one;
	while (wall_ns() < end)
		current->wait();
	return NULL;
}

/* Holds on after the end, so that nobody waits for ever. */
static void *holder(void *one)
{
	const struct waits *w = one;

	for (;;)
		w->hold();
	return NULL;
}

int main(int argc, char **argv)
{
	enum { N = sizeof(all) / sizeof(all[0]) };
	pthread_t waiters[N], holders[N];

	end = wall_ns() + (int64_t)(atof(argc > 1 ? argv[1] : "2") * 1e9);
	interval = atof(argc > 2 ? argv[2] : "100000");
	heap_lock = malloc(sizeof(*heap_lock));
	pthread_mutex_init(heap_lock, NULL);
	pthread_spin_init(&spin, 0);
	sem_init(&semaphore, 0, 0);
	for (int i = 0; i < N; i++)
		if (pthread_create(&holders[i], NULL, holder, &all[i]) ||
		    pthread_create(&waiters[i], NULL, waiter, &all[i]))
			return 1;
	for (int i = 0; i < N; i++)
		pthread_join(waiters[i], NULL);
	for (int i = 0; i < N; i++)
		printf("%s\"%s\": [%.0f, %.0f, %.0f]", i ? ", " : "{", all[i].name, all[i].ns,
		       all[i].count, all[i].variance);
	printf("}\n");
	return 0;
}
