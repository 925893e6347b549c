/*
 * Threads that come and go, each with a name and 10 ms of work, until the first thread is gone and
 * one more works alone:
 *	threads COUNT
 */
#include <pthread.h>
#include <stdlib.h>

#include "truth.h"

static volatile uint64_t sink;
static pthread_t first;

NOINLINE void work_in_thread(int64_t length)
{
	int64_t end = cpu_ns() + length;

	while (cpu_ns() < end)
		sink += churn(sink, 2000);
}

static void *brief(void *unused)
{
	(void)unused;
	pthread_setname_np(pthread_self(), "brief");
	work_in_thread(10000000);
	return NULL;
}

NOINLINE void work_alone(void)
{
	work_in_thread(500000000);
	sink++;
}

static void *last(void *unused)
{
	(void)unused;
	/* The first thread has ended when this returns. */
	pthread_join(first, NULL);
	pthread_setname_np(pthread_self(), "alone");
	work_alone();
	exit(0);
}

int main(int argc, char **argv)
{
	int count = atoi(argc > 1 ? argv[1] : "100");
	pthread_t thread;

	first = pthread_self();
	for (int i = 0; i < count; i++) {
		if (pthread_create(&thread, NULL, brief, NULL))
			return 1;
		pthread_join(thread, NULL);
	}
	pthread_create(&thread, NULL, last, NULL);
	pthread_exit(NULL);
}
