/*
 * What bench/library times inside of one process:
 *	inside pairs THREADS	nanoseconds per malloc/free pair of 16 to 512 bytes
 *	inside deep FRAMES	the same, FRAMES calls below main
 *	inside span		nanoseconds per span entered and left (takes libvestal by dlsym)
 *	inside mutex		nanoseconds per mutex locked and unlocked that nobody else wants
 *	inside spin SECONDS	loops done in so much CPU time, without a call
 * Prints one number.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PAIRS	    20000000
#define THREADS_MAX 16

static double now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void *pairs(void *ret)
{
	double start = now(CLOCK_THREAD_CPUTIME_ID);
	void *held[16] = {0};
	uint32_t x = 12345;

	for (int i = 0; i < PAIRS; i++) {
		void **place = &held[x >> 28];

		x = x * 1664525u + 1013904223u;
		free(*place);
		*place = malloc(16 + (x >> 23));
		__asm__ volatile("" : : "r"(*place) : "memory");
	}
	for (int i = 0; i < 16; i++)
		free(held[i]);
	*(double *)ret = (now(CLOCK_THREAD_CPUTIME_ID) - start) * 1e9 / PAIRS;
	return NULL;
}

static double all_pairs(int threads)
{
	double each[THREADS_MAX], sum = 0;
	pthread_t ids[THREADS_MAX];

	for (int i = 0; i < threads; i++)
		if (pthread_create(&ids[i], NULL, pairs, &each[i]))
			exit(1);
	for (int i = 0; i < threads; i++) {
		pthread_join(ids[i], NULL);
		sum += each[i];
	}
	return sum / threads;
}

__attribute__((noinline)) static void below(int frames, double *ret)
{
	if (frames)
		below(frames - 1, ret);
	else
		pairs(ret);
	__asm__ volatile("" : : : "memory");
}

static double span(void)
{
	static const uint8_t trace[16] = {1}, id[8] = {2};
	void (*enter)(const uint8_t *, const uint8_t *, const char *);
	void (*leave)(int);
	void *found[2] = {dlsym(RTLD_DEFAULT, "vestal_span_enter"),
			  dlsym(RTLD_DEFAULT, "vestal_span_exit")};
	double start;

	if (!found[0] || !found[1])
		exit(1);
	memcpy(&enter, &found[0], sizeof(enter));
	memcpy(&leave, &found[1], sizeof(leave));
	start = now(CLOCK_THREAD_CPUTIME_ID);
	for (int i = 0; i < PAIRS; i++) {
		enter(trace, id, "checkout.totals");
		leave(0);
	}
	return (now(CLOCK_THREAD_CPUTIME_ID) - start) * 1e9 / PAIRS;
}

static double mutex(void)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	double start = now(CLOCK_THREAD_CPUTIME_ID);

	for (int i = 0; i < PAIRS; i++) {
		pthread_mutex_lock(&lock);
		pthread_mutex_unlock(&lock);
	}
	return (now(CLOCK_THREAD_CPUTIME_ID) - start) * 1e9 / PAIRS;
}

static double spin(double seconds)
{
	double end = now(CLOCK_PROCESS_CPUTIME_ID) + seconds, loops = 0;
	uint64_t x = 1;

	while (now(CLOCK_PROCESS_CPUTIME_ID) < end) {
		for (int i = 0; i < 100000; i++)
			x = x * 6364136223846793005ull + 1442695040888963407ull;
		__asm__ volatile("" : "+r"(x));
		loops++;
	}
	return loops;
}

int main(int argc, char **argv)
{
	double value = 0;

	if (argc > 2 && !strcmp(argv[1], "pairs"))
		value = all_pairs(atoi(argv[2]));
	else if (argc > 2 && !strcmp(argv[1], "deep"))
		below(atoi(argv[2]), &value);
	else if (argc > 1 && !strcmp(argv[1], "span"))
		value = span();
	else if (argc > 1 && !strcmp(argv[1], "mutex"))
		value = mutex();
	else if (argc > 2 && !strcmp(argv[1], "spin"))
		value = spin(atof(argv[2]));
	else
		return 2;
	printf("%.3f\n", value);
	return 0;
}
