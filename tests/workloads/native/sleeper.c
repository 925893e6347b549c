/*
 * Waits of known length: sleeps, a pipe that a thread writes to, a lock that another thread holds.
 * Prints how long it waited in each, as it measured itself.
 */
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "truth.h"

static int64_t waited[3];
static int ends[2];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

NOINLINE void wait_asleep(void)
{
	struct timespec t = {0, 3000000};
	int64_t start = wall_ns();

	nanosleep(&t, NULL);
	waited[0] += wall_ns() - start;
}

NOINLINE void wait_for_pipe(void)
{
	int64_t start = wall_ns();
	char byte;

	if (read(ends[0], &byte, 1) != 1)
		abort();
	waited[1] += wall_ns() - start;
}

NOINLINE void wait_for_lock(void)
{
	int64_t start = wall_ns();

	pthread_mutex_lock(&lock);
	waited[2] += wall_ns() - start;
	pthread_mutex_unlock(&lock);
}

/* Holds the lock most of the time, and feeds the pipe. */
NOINLINE void *wake_others(void *unused)
{
	(void)unused;
	for (;;) {
		pthread_mutex_lock(&lock);
		usleep(6000);
		pthread_mutex_unlock(&lock);
		usleep(1500);
		if (write(ends[1], "x", 1) != 1)
			abort();
	}
	return NULL;
}

int main(int argc, char **argv)
{
	int64_t end = wall_ns() + (int64_t)(atof(argc > 1 ? argv[1] : "3") * 1e9);
	pthread_t other;

	if (pipe(ends))
		return 1;
	pthread_create(&other, NULL, wake_others, NULL);
	while (wall_ns() < end) {
		wait_asleep();
		wait_for_pipe();
		wait_for_lock();
	}
	printf("{\"wait_asleep\": %lld, \"wait_for_pipe\": %lld, \"wait_for_lock\": %lld}\n",
	       (long long)waited[0], (long long)waited[1], (long long)waited[2]);
	fflush(stdout);
	_exit(0);
}
