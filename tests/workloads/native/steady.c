/*
 * Two threads that work and hold memory until standard input ends:
 *	steady [fork]
 * With "fork" a child without another program waits beside them; its number is printed.
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "truth.h"

static atomic_bool stop;
static __thread void *held[1000];

NOINLINE void hold_memory(unsigned i)
{
	free(held[i % 1000]);
	held[i % 1000] = malloc(10000);
	if (held[i % 1000])
		memset(held[i % 1000], 1, 10000);
}

NOINLINE void work_steadily(unsigned i)
{
	static __thread volatile uint64_t sink;

	sink += churn(sink, 50000);
	hold_memory(i);
}

static void *work(void *unused)
{
	for (unsigned i = 0; !stop; i++)
		work_steadily(i);
	for (unsigned i = 0; i < 1000; i++)
		free(held[i]);
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t threads[2];
	pid_t child = 0;
	char byte;

	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, work, NULL);
	if (argc > 1 && !strcmp(argv[1], "fork")) {
		child = fork();
		if (!child) {
			pause();
			_exit(0);
		}
	}
	printf("%d\n", (int)child);
	fflush(stdout);
	while (read(0, &byte, 1) > 0)
		;
	stop = true;
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	if (child) {
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
	}
	return 0;
}
