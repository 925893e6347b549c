/*
 * Threads that allocate without end beside one that forks children which allocate and exit():
 *	forker CHILDREN
 * Prints how many children ended well; one that is stuck is killed after 20 seconds and counted.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "truth.h"

static volatile int stop;

static void pair(size_t size)
{
	void *p = malloc(size);

	__asm__ volatile("" : "+r"(p) : : "memory");
	free(p);
}

static void *allocate(void *unused)
{
	size_t x = (size_t)&unused;

	/* With pauses: fork() shall find them in the middle, and time to happen. */
	while (!stop) {
		for (int i = 0; i < 5000; i++) {
			x = x * 6364136223846793005ull + 1442695040888963407ull;
			pair(100 + (x >> 52));
		}
		usleep(100);
	}
	return unused;
}

static void *idle(void *unused)
{
	return unused;
}

static int child(int number)
{
	pthread_t thread;

	for (int i = 0; i < 2000; i++)
		pair(2000);
	/* One in ten has threads of its own, one in ten works long enough to be sampled. */
	if (number % 10 == 0) {
		if (pthread_create(&thread, NULL, idle, NULL))
			return 2;
		pthread_join(thread, NULL);
	}
	for (int64_t end = cpu_ns() + 25000000; number % 10 == 1 && cpu_ns() < end;)
		pair(100);
	return 0;
}

/* 0 when it ended well. */
static int wait_for(pid_t pid)
{
	int64_t end = wall_ns() + 20000000000ll;
	int status;

	while (waitpid(pid, &status, WNOHANG) == 0) {
		if (wall_ns() > end) {
			kill(pid, SIGKILL);
			waitpid(pid, &status, 0);
			return 1;
		}
		usleep(200);
	}
	return WIFEXITED(status) && !WEXITSTATUS(status) ? 0 : 2;
}

int main(int argc, char **argv)
{
	int children = atoi(argc > 1 ? argv[1] : "100"), counts[3] = {0};
	pthread_t threads[3];

	for (int i = 0; i < 3; i++)
		if (pthread_create(&threads[i], NULL, allocate, NULL))
			return 1;
	for (int i = 0; i < children; i++) {
		pid_t pid = fork();

		if (pid < 0)
			return 1;
		if (!pid)
			exit(child(i));
		counts[wait_for(pid)]++;
	}
	stop = 1;
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	printf("{\"well\": %d, \"stuck\": %d, \"failed\": %d}\n", counts[0], counts[1], counts[2]);
	return 0;
}
