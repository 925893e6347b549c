/*
 * A known number of threads in known places: seven asleep, three that wait for a lock, one that
 * works, and the first, which waits for the time to be over: crowd SECONDS
 */
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "truth.h"

#define ASLEEP 7
#define QUEUED 3

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile uint64_t sink;

NOINLINE void sleep_in_crowd(void)
{
	for (;;)
		sleep(100);
}

NOINLINE void queue_in_crowd(void)
{
	pthread_mutex_lock(&lock);
	pthread_mutex_unlock(&lock);
}

NOINLINE void work_in_crowd(void)
{
	for (;;)
		sink += churn(sink, 2000);
}

static void *run(void *what)
{
	pthread_setname_np(pthread_self(), "crowd-member");
	((void (*)(void))what)();
	return NULL;
}

static void start(void (*what)(void))
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, run, (void *)what))
		abort();
}

NOINLINE void wait_for_end(double seconds)
{
	usleep((useconds_t)(seconds * 1e6));
	sink++;
}

int main(int argc, char **argv)
{
	pthread_mutex_lock(&lock);
	for (int i = 0; i < ASLEEP; i++)
		start(sleep_in_crowd);
	for (int i = 0; i < QUEUED; i++)
		start(queue_in_crowd);
	start(work_in_crowd);
	wait_for_end(atof(argc > 1 ? argv[1] : "3"));
	printf("{\"sleep_in_crowd\": %d, \"queue_in_crowd\": %d, \"wait_for_end\": 1}\n", ASLEEP,
	       QUEUED);
	fflush(stdout);
	exit(0);
}
