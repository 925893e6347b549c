/* Two threads that take a lock in turns and hold it, and one that waits for a condition, until
 * standard input ends. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <unistd.h>

#include "truth.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, turn_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turn = PTHREAD_COND_INITIALIZER;
static atomic_bool stop;
static volatile uint64_t sink;

NOINLINE void wait_for_lock(void)
{
	pthread_mutex_lock(&lock);
	usleep(3000);
	pthread_mutex_unlock(&lock);
	sink++;
}

NOINLINE void wait_for_turn(void)
{
	struct timespec end;

	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_nsec += 200000000;
	if (end.tv_nsec >= 1000000000) {
		end.tv_nsec -= 1000000000;
		end.tv_sec++;
	}
	pthread_mutex_lock(&turn_lock);
	pthread_cond_timedwait(&turn, &turn_lock, &end);
	pthread_mutex_unlock(&turn_lock);
	sink++;
}

static void *take_turns(void *unused)
{
	while (!stop)
		wait_for_lock();
	return unused;
}

static void *wait_long(void *unused)
{
	while (!stop)
		wait_for_turn();
	return unused;
}

int main(void)
{
	pthread_t threads[3];
	char byte;

	pthread_create(&threads[0], NULL, take_turns, NULL);
	pthread_create(&threads[1], NULL, take_turns, NULL);
	pthread_create(&threads[2], NULL, wait_long, NULL);
	while (read(0, &byte, 1) > 0)
		;
	stop = true;
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
