/*
 * Four threads that contend for one lock, which each holds for 2 ms while asleep. Prints how long
 * they waited for it in total, by their own clocks.
 *
 *	convoy SECONDS
 */
#include <pthread.h>
#include <stdlib.h>

#include "truth.h"

#define THREADS 4

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int64_t waited[THREADS], end;

NOINLINE void queue_for_lock(int64_t *sum)
{
	int64_t start = wall_ns();

	pthread_mutex_lock(&lock);
	*sum += wall_ns() - start;
}

NOINLINE void hold_lock(void)
{
	struct timespec t = {0, 2000000};

	nanosleep(&t, NULL);
	pthread_mutex_unlock(&lock);
}

static void *walk_in_convoy(void *sum)
{
	struct timespec rest = {0, 500000};

	while (wall_ns() < end) {
		queue_for_lock(sum);
		hold_lock();
		/* So that others get it too. */
		nanosleep(&rest, NULL);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];
	int64_t sum = 0;

	end = wall_ns() + (int64_t)(atof(argc > 1 ? argv[1] : "3") * 1e9);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, walk_in_convoy, &waited[i]);
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		sum += waited[i];
	}
	printf("{\"queue_for_lock\": %lld}\n", (long long)sum);
	return 0;
}
