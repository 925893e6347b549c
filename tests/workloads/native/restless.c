/*
 * Threads that sleep in calls which a signal would end, each in a function of its own:
 *	restless SECONDS
 * Prints how long it asked to sleep in each, and how many calls were interrupted.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/select.h>

#include "truth.h"

#define THREADS 8
#define WAYS	6

static const char *const names[WAYS] = {"sleep_poll",  "sleep_nano",	  "sleep_select",
					"sleep_epoll", "sleep_semaphore", "sleep_signal"};
static const int ms[WAYS] = {7, 5, 4, 3, 6, 2};
static int64_t end, asked[THREADS][WAYS];
static int interrupted[THREADS];
static volatile uint64_t sink;

static void check(int thread, int result)
{
	if (result < 0 && errno == EINTR)
		interrupted[thread]++;
}

NOINLINE void sleep_poll(int thread)
{
	check(thread, poll(NULL, 0, ms[0]));
}

NOINLINE void sleep_nano(int thread)
{
	struct timespec time = {0, ms[1] * 1000000};

	check(thread, nanosleep(&time, NULL));
}

NOINLINE void sleep_select(int thread)
{
	struct timeval time = {0, ms[2] * 1000};

	check(thread, select(0, NULL, NULL, NULL, &time));
}

NOINLINE void sleep_epoll(int thread)
{
	static int fd;
	struct epoll_event event;

	if (!fd)
		fd = epoll_create1(0);
	check(thread, epoll_wait(fd, &event, 1, ms[3]));
}

NOINLINE void sleep_semaphore(int thread)
{
	static sem_t none;
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += ms[4] * 1000000;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	check(thread, sem_timedwait(&none, &until));
}

NOINLINE void sleep_signal(int thread)
{
	struct timespec time = {0, ms[5] * 1000000};
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	check(thread, sigtimedwait(&set, NULL, &time));
}

NOINLINE void work_a_little(void)
{
	sink += churn(sink, 100000);
}

static void *run(void *argument)
{
	static void (*const ways[WAYS])(int) = {sleep_poll,  sleep_nano,      sleep_select,
						sleep_epoll, sleep_semaphore, sleep_signal};
	int thread = (int)(intptr_t)argument;

	for (unsigned i = (unsigned)thread; wall_ns() < end; i++) {
		ways[i % WAYS](thread);
		asked[thread][i % WAYS] += ms[i % WAYS] * 1000000;
		work_a_little();
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];
	int sum = 0;

	end = wall_ns() + (int64_t)(atof(argc > 1 ? argv[1] : "2") * 1e9);
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, run, (void *)(intptr_t)i))
			return 1;
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		sum += interrupted[i];
	}
	printf("{");
	for (int k = 0; k < WAYS; k++) {
		int64_t ns = 0;

		for (int i = 0; i < THREADS; i++)
			ns += asked[i][k];
		printf("\"%s\": %lld, ", names[k], (long long)ns);
	}
	printf("\"interrupted\": %d}\n", sum);
	return 0;
}
