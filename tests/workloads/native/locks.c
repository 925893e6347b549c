/*
 * Waits on futexes that are for a lock (a global one, one on the heap) and that are not (a
 * condition, the end of a thread). Prints how long each function waited, as it measured: locks
 * SECONDS
 */
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "truth.h"

pthread_mutex_t ledger_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t *heap_lock, news_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t news = PTHREAD_COND_INITIALIZER;
static int64_t waited[3], end;
static volatile uint64_t sink;

NOINLINE void wait_for_ledger(void)
{
	int64_t start = wall_ns();

	pthread_mutex_lock(&ledger_lock);
	waited[0] += wall_ns() - start;
	pthread_mutex_unlock(&ledger_lock);
}

NOINLINE void wait_for_heap_lock(void)
{
	int64_t start = wall_ns();

	pthread_mutex_lock(heap_lock);
	waited[1] += wall_ns() - start;
	pthread_mutex_unlock(heap_lock);
}

NOINLINE void wait_for_news(void)
{
	int64_t start;

	pthread_mutex_lock(&news_lock);
	start = wall_ns();
	pthread_cond_wait(&news, &news_lock);
	waited[2] += wall_ns() - start;
	pthread_mutex_unlock(&news_lock);
}

static void *hold_locks(void *unused)
{
	while (wall_ns() < end) {
		pthread_mutex_lock(&ledger_lock);
		pthread_mutex_lock(heap_lock);
		usleep(6000);
		pthread_mutex_unlock(&ledger_lock);
		usleep(6000);
		pthread_mutex_unlock(heap_lock);
		usleep(3000);
	}
	return unused;
}

static void *read_news(void *unused)
{
	for (;;)
		wait_for_news();
	return unused;
}

static void *write_news(void *unused)
{
	while (wall_ns() < end) {
		usleep(8000);
		pthread_cond_signal(&news);
	}
	return unused;
}

NOINLINE void wait_for_thread(pthread_t thread)
{
	pthread_join(thread, NULL);
	sink++;
}

int main(int argc, char **argv)
{
	pthread_t holder, reader, writer;

	end = wall_ns() + (int64_t)(atof(argc > 1 ? argv[1] : "3") * 1e9);
	heap_lock = malloc(sizeof(*heap_lock));
	pthread_mutex_init(heap_lock, NULL);
	pthread_create(&holder, NULL, hold_locks, NULL);
	pthread_create(&reader, NULL, read_news, NULL);
	pthread_create(&writer, NULL, write_news, NULL);
	while (wall_ns() < end - 200000000) {
		usleep(1000);
		wait_for_ledger();
		wait_for_heap_lock();
	}
	wait_for_thread(writer);
	printf("{\"wait_for_ledger\": %lld, \"wait_for_heap_lock\": %lld, \"wait_for_news\": "
	       "%lld}\n",
	       (long long)waited[0], (long long)waited[1], (long long)waited[2]);
	return 0;
}
