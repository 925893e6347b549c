/*
 * busy_crowd THREADS: so many threads at the same time, each with 5 to 15 ms of work. Prints the
 * work's time and how many descriptors the program could open meanwhile.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "truth.h"

static atomic_llong used;
static pthread_barrier_t all_there;

NOINLINE uint64_t work_in_crowd(uint64_t x, int64_t length)
{
	int64_t end = cpu_ns() + length;

	while (cpu_ns() < end)
		x += churn(x, 2000);
	return x;
}

static void *run(void *number)
{
	uint32_t dice = (uint32_t)(uintptr_t)number * 2654435761u;
	volatile uint64_t sink = dice;

	pthread_barrier_wait(&all_there);
	sink += work_in_crowd(sink, 5000000 + (dice >> 8) % 10000000);
	used += cpu_ns();
	/* They end when all have been counted. */
	pthread_barrier_wait(&all_there);
	return NULL;
}

static int descriptors_left(void)
{
	int fds[1024], n = 0;

	while (n < 1024 && (fds[n] = open("/dev/null", O_RDONLY)) >= 0)
		n++;
	for (int i = 0; i < n; i++)
		close(fds[i]);
	return n;
}

int main(int argc, char **argv)
{
	int count = atoi(argc > 1 ? argv[1] : "10");
	int left;
	pthread_t *threads = calloc((size_t)count, sizeof(*threads));
	pthread_attr_t small;

	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 65536);
	pthread_barrier_init(&all_there, NULL, (unsigned)count + 1);
	for (int i = 0; i < count; i++)
		if (pthread_create(&threads[i], &small, run, (void *)(uintptr_t)i)) {
			perror("pthread_create");
			exit(2);
		}
	pthread_barrier_wait(&all_there);
	left = descriptors_left();
	pthread_barrier_wait(&all_there);
	for (int i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	printf("{\"work\": %lld, \"left\": %d}\n", (long long)used, left);
	return 0;
}
