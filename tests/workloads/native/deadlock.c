/* Two threads, two locks, taken in opposite orders: neither goes on. The main thread waits too. */
#include <pthread.h>
#include <unistd.h>

static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER, second = PTHREAD_MUTEX_INITIALIZER;

__attribute__((noinline)) void *first_then_second(void *unused)
{
	pthread_mutex_lock(&first);
	usleep(100000);
	pthread_mutex_lock(&second);
	return unused;
}

__attribute__((noinline)) void *second_then_first(void *unused)
{
	pthread_mutex_lock(&second);
	usleep(100000);
	pthread_mutex_lock(&first);
	return unused;
}

int main(void)
{
	pthread_t a, b;

	pthread_create(&a, NULL, first_then_second, NULL);
	pthread_create(&b, NULL, second_then_first, NULL);
	pthread_join(a, NULL);
	return 0;
}
