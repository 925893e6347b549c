/*
 * Works 10 ms, sleeps 100 ms, again and again: bursts COUNT. Prints the CPU time of the work, by
 * its own clock.
 */
#define _GNU_SOURCE
#include <stdlib.h>

#include "truth.h"

static volatile uint64_t sink;

NOINLINE void work_in_bursts(void)
{
	int64_t end = cpu_ns() + 10000000;

	while (cpu_ns() < end)
		sink += churn(sink, 2000);
}

int main(int argc, char **argv)
{
	struct timespec pause = {0, 100000000};

	for (int i = 0; i < (argc > 1 ? atoi(argv[1]) : 400); i++) {
		work_in_bursts();
		nanosleep(&pause, NULL);
	}
	printf("{\"work_in_bursts\": %lld}\n", (long long)cpu_ns());
	return 0;
}
