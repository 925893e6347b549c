/*
 * Work inside libc, below libc, and waits in it: sorting with a comparison of its own, formatting,
 * copying, allocating, sleeping, in the first thread and in another.
 *
 *	libc_user SECONDS
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int compare(const void *a, const void *b)
{
	int x = *(const int *)a, y = *(const int *)b;
	volatile int work = 0;

	for (int i = 0; i < 20; i++)
		work += i;
	return (x > y) - (x < y);
}

__attribute__((noinline)) static void sorts(unsigned *seed)
{
	int values[2000];

	for (int i = 0; i < 2000; i++)
		values[i] = rand_r(seed);
	qsort(values, 2000, sizeof(values[0]), compare);
}

__attribute__((noinline)) static void formats(void)
{
	char text[256];

	for (int i = 0; i < 500; i++)
		snprintf(text, sizeof(text), "%d %s %f", i, "something", i * 0.5);
}

__attribute__((noinline)) static void copies(char *to, const char *from, size_t size)
{
	for (int i = 0; i < 50; i++) {
		memcpy(to, from, size);
		__asm__ volatile("" ::"r"(to) : "memory");
	}
}

__attribute__((noinline)) static void allocates(void)
{
	void *held[100];

	for (int i = 0; i < 100; i++)
		held[i] = malloc((size_t)i * 13 + 1);
	for (int i = 0; i < 100; i++)
		free(held[i]);
}

__attribute__((noinline)) static void naps(void)
{
	struct timespec some = {.tv_nsec = 3000000};

	nanosleep(&some, NULL);
}

static void *work(void *seconds)
{
	enum { SIZE = 20000 };
	char *to = malloc(SIZE), *from = calloc(1, SIZE);
	time_t end = time(NULL) + *(int *)seconds;
	unsigned seed = 1;

	while (to && from && time(NULL) < end) {
		sorts(&seed);
		formats();
		copies(to, from, SIZE);
		allocates();
		naps();
	}
	free(to);
	free(from);
	return NULL;
}

int main(int argc, char **argv)
{
	int seconds = argc > 1 ? atoi(argv[1]) : 3;
	pthread_t other;

	if (pthread_create(&other, NULL, work, &seconds))
		return 1;
	work(&seconds);
	return pthread_join(other, NULL);
}
