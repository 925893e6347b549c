/*
 * Pairs of threads that exchange a byte as fast as they can, and one thread with repeated long
 * waits: many context switches of little weight. Prints the length of the long waits, and the
 * off-CPU time of the other threads, by their own clocks.
 *
 *	pingpong SECONDS PAIRS
 */
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "truth.h"

#define PAIRS_MAX 64

static struct pair {
	int there[2], back[2];
	pthread_t threads[2];
} pairs[PAIRS_MAX];
static int64_t waited, end;

NOINLINE void pass_on(int from, int to)
{
	char byte;

	if (read(from, &byte, 1) == 1 && write(to, &byte, 1) != 1)
		abort();
}

static void *return_it(void *one)
{
	const struct pair *p = one;

	for (;;)
		pass_on(p->there[0], p->back[1]);
	return NULL;
}

static void *hand_out(void *one)
{
	const struct pair *p = one;

	if (write(p->there[1], "x", 1) != 1)
		abort();
	for (;;)
		pass_on(p->back[0], p->there[1]);
	return NULL;
}

static void start_pair(struct pair *p)
{
	if (pipe(p->there) || pipe(p->back) || pthread_create(&p->threads[0], NULL, return_it, p) ||
	    pthread_create(&p->threads[1], NULL, hand_out, p))
		abort();
}

/* Time that a thread has used its CPU. */
static int64_t used_by(pthread_t thread)
{
	clockid_t clock;

	return pthread_getcpuclockid(thread, &clock) ? 0 : now_ns(clock);
}

NOINLINE void wait_long(void)
{
	struct timespec t = {0, 20000000};
	int64_t start = wall_ns();

	nanosleep(&t, NULL);
	waited += wall_ns() - start;
}

int main(int argc, char **argv)
{
	int count = argc > 2 ? atoi(argv[2]) : 1;
	int64_t start = wall_ns(), off = 0;

	end = start + (int64_t)(atof(argc > 1 ? argv[1] : "3") * 1e9);
	for (int i = 0; i < count && i < PAIRS_MAX; i++)
		start_pair(&pairs[i]);
	while (wall_ns() < end)
		wait_long();
	for (int i = 0; i < count && i < PAIRS_MAX; i++)
		for (int k = 0; k < 2; k++)
			off += wall_ns() - start - used_by(pairs[i].threads[k]);
	printf("{\"wait_long\": %lld, \"pass_on\": %lld}\n", (long long)waited, (long long)off);
	fflush(stdout);
	_exit(0);
}
