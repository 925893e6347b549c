/*
 * What locks of every kind answer, in every situation that has an answer of its own, and where a
 * thread can be cancelled. Prints a line for each; with a library in front of libc's locks it must
 * print the same.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static struct timespec after_ms(clockid_t clock, long ms)
{
	struct timespec t;

	clock_gettime(clock, &t);
	t.tv_nsec += ms * 1000000;
	t.tv_sec += t.tv_nsec / 1000000000;
	t.tv_nsec %= 1000000000;
	return t;
}

static void say(const char *what, int result)
{
	printf("%s: %s, errno %s\n", what,
	       result < 0 ? "-1"
	       : result	  ? strerrorname_np(result)
			  : "0",
	       errno ? strerrorname_np(errno) : "0");
	errno = 0;
}

static void *in_thread(void *(*run)(void *), void *argument)
{
	pthread_t thread;
	void *result;

	if (pthread_create(&thread, NULL, run, argument))
		exit(1);
	pthread_join(thread, &result);
	return result;
}

/* ---- mutexes ---- */

static void *take_and_die(void *mutex)
{
	say("  a dying thread takes it", pthread_mutex_lock(mutex));
	return NULL;
}

static void *take_with_limit(void *mutex)
{
	struct timespec until = after_ms(CLOCK_REALTIME, 20), broken = {0, 1000000000};

	say("  another with a limit", pthread_mutex_timedlock(mutex, &until));
	until = after_ms(CLOCK_MONOTONIC, 20);
	say("  by the other clock", pthread_mutex_clocklock(mutex, CLOCK_MONOTONIC, &until));
	say("  by no clock", pthread_mutex_clocklock(mutex, CLOCK_PROCESS_CPUTIME_ID, &until));
	say("  with a broken time", pthread_mutex_timedlock(mutex, &broken));
	return NULL;
}

static void try_mutex(const char *name, int type, int protocol, int robust)
{
	struct timespec until = after_ms(CLOCK_REALTIME, 20), broken = {0, 1000000000};
	pthread_mutexattr_t attributes;
	pthread_mutex_t mutex;

	printf("%s\n", name);
	pthread_mutexattr_init(&attributes);
	pthread_mutexattr_settype(&attributes, type);
	pthread_mutexattr_setprotocol(&attributes, protocol);
	pthread_mutexattr_setrobust(&attributes, robust);
	say("  made", pthread_mutex_init(&mutex, &attributes));
	say("  free, no clock", pthread_mutex_clocklock(&mutex, CLOCK_PROCESS_CPUTIME_ID, &until));
	say("  free, a broken time", pthread_mutex_timedlock(&mutex, &broken));
	if (type == PTHREAD_MUTEX_RECURSIVE || type == PTHREAD_MUTEX_ERRORCHECK) {
		say("  twice", pthread_mutex_lock(&mutex));
		say("  and with a limit", pthread_mutex_timedlock(&mutex, &until));
	}
	in_thread(take_with_limit, &mutex);
	while (pthread_mutex_unlock(&mutex) == 0 && type == PTHREAD_MUTEX_RECURSIVE)
		;
	errno = 0;
	if (robust == PTHREAD_MUTEX_ROBUST) {
		in_thread(take_and_die, &mutex);
		say("  after a death", pthread_mutex_lock(&mutex));
		say("  given up", pthread_mutex_unlock(&mutex));
		say("  for good", pthread_mutex_lock(&mutex));
		say("  for good, with a limit", pthread_mutex_timedlock(&mutex, &until));
	}
}

static void mutexes(void)
{
	enum { NORMAL = PTHREAD_MUTEX_NORMAL, CHECK = PTHREAD_MUTEX_ERRORCHECK };
	enum { AGAIN = PTHREAD_MUTEX_RECURSIVE, ADAPTIVE = PTHREAD_MUTEX_ADAPTIVE_NP };
	enum { NONE = PTHREAD_PRIO_NONE, INHERIT = PTHREAD_PRIO_INHERIT };
	enum { STALLED = PTHREAD_MUTEX_STALLED, ROBUST = PTHREAD_MUTEX_ROBUST };

	try_mutex("plain", NORMAL, NONE, STALLED);
	try_mutex("checking", CHECK, NONE, STALLED);
	try_mutex("recursive", AGAIN, NONE, STALLED);
	try_mutex("adaptive", ADAPTIVE, NONE, STALLED);
	try_mutex("robust", NORMAL, NONE, ROBUST);
	try_mutex("robust, checking", CHECK, NONE, ROBUST);
	try_mutex("robust, recursive", AGAIN, NONE, ROBUST);
	try_mutex("inheriting", NORMAL, INHERIT, STALLED);
	try_mutex("inheriting, checking", CHECK, INHERIT, STALLED);
	try_mutex("inheriting, robust", NORMAL, INHERIT, ROBUST);
}

/* ---- the others ---- */

static void *other_rwlock(void *lock)
{
	struct timespec until = after_ms(CLOCK_REALTIME, 20);

	say("  another reads with a limit", pthread_rwlock_timedrdlock(lock, &until));
	until = after_ms(CLOCK_MONOTONIC, 20);
	say("  by the other clock", pthread_rwlock_clockrdlock(lock, CLOCK_MONOTONIC, &until));
	say("  by no clock", pthread_rwlock_clockwrlock(lock, CLOCK_THREAD_CPUTIME_ID, &until));
	say("  another writes with a limit", pthread_rwlock_timedwrlock(lock, &until));
	return NULL;
}

static void rwlocks(void)
{
	pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;

	printf("rwlock\n");
	say("  written", pthread_rwlock_wrlock(&lock));
	say("  written twice", pthread_rwlock_wrlock(&lock));
	say("  read by who writes", pthread_rwlock_rdlock(&lock));
	in_thread(other_rwlock, &lock);
	say("  left", pthread_rwlock_unlock(&lock));
	say("  read", pthread_rwlock_rdlock(&lock));
	say("  read twice", pthread_rwlock_rdlock(&lock));
}

static void semaphores(void)
{
	struct timespec until = after_ms(CLOCK_REALTIME, 20), broken = {0, -1};
	sem_t semaphore;

	printf("semaphore\n");
	sem_init(&semaphore, 0, 2);
	errno = EXDEV;
	say("  there", sem_wait(&semaphore));
	say("  there, a broken time", sem_timedwait(&semaphore, &broken));
	say("  there, no clock", sem_clockwait(&semaphore, CLOCK_THREAD_CPUTIME_ID, &until));
	say("  there, with a limit", sem_timedwait(&semaphore, &until));
	say("  not there", sem_timedwait(&semaphore, &until));
	until = after_ms(CLOCK_MONOTONIC, 20);
	say("  nor by the other clock", sem_clockwait(&semaphore, CLOCK_MONOTONIC, &until));
}

static void conditions(void)
{
	pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	pthread_cond_t never = PTHREAD_COND_INITIALIZER;
	struct timespec until = after_ms(CLOCK_REALTIME, 20), broken = {0, -1};

	printf("condition\n");
	pthread_mutex_lock(&mutex);
	errno = EXDEV;
	say("  not in time", pthread_cond_timedwait(&never, &mutex, &until));
	say("  no time", pthread_cond_timedwait(&never, &mutex, &broken));
	say("  no clock", pthread_cond_clockwait(&never, &mutex, CLOCK_THREAD_CPUTIME_ID, &until));
	say("  still ours", pthread_mutex_unlock(&mutex));
}

/* ---- cancellation ---- */

static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static sem_t none, some;
static volatile int cleaned;

static void clean(void *mutex)
{
	cleaned++;
	if (mutex)
		say("  the mutex is ours again", pthread_mutex_unlock(mutex));
}

static void *wait_condition(void *unused)
{
	pthread_mutex_lock(&held);
	pthread_cleanup_push(clean, &held);
	pthread_cond_wait(&never, &held);
	pthread_cleanup_pop(0);
	return unused;
}

static void *wait_semaphore(void *unused)
{
	pthread_cleanup_push(clean, NULL);
	sem_wait(&none);
	pthread_cleanup_pop(0);
	return unused;
}

/* The cancellation is there before the call, which need not wait. */
static void *wait_for_what_is_there(void *unused)
{
	pthread_cancel(pthread_self());
	pthread_cleanup_push(clean, NULL);
	sem_wait(&some);
	pthread_cleanup_pop(0);
	return unused;
}

/* Taking a lock is no place to end. */
static void *wait_mutex(void *unused)
{
	pthread_cancel(pthread_self());
	pthread_mutex_lock(&held);
	pthread_mutex_unlock(&held);
	cleaned += 100;
	pthread_testcancel();
	return unused;
}

static void cancel(const char *what, void *(*run)(void *))
{
	pthread_t thread;
	void *result;

	cleaned = 0;
	if (pthread_create(&thread, NULL, run, NULL))
		exit(1);
	usleep(20000);
	pthread_cancel(thread);
	pthread_join(thread, &result);
	printf("%s: %s, cleaned %d\n", what, result == PTHREAD_CANCELED ? "cancelled" : "ended",
	       cleaned);
}

int main(void)
{
	mutexes();
	rwlocks();
	semaphores();
	conditions();
	sem_init(&none, 0, 0);
	sem_init(&some, 0, 1);
	cancel("in a condition", wait_condition);
	cancel("in a semaphore", wait_semaphore);
	cancel("before a semaphore", wait_for_what_is_there);
	cancel("before a mutex", wait_mutex);
	return 0;
}
