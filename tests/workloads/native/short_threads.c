/* Threads of 2 ms of work, one after the other: short_threads COUNT. Prints what they used. */
#include <pthread.h>
#include <stdlib.h>

#include "truth.h"

static volatile uint64_t sink;
static long long used;

NOINLINE void *brief(void *unused)
{
	int64_t start = cpu_ns();

	while (cpu_ns() - start < 2000000)
		sink += churn(sink, 2000);
	used += cpu_ns();
	return unused;
}

int main(int argc, char **argv)
{
	for (int i = atoi(argc > 1 ? argv[1] : "100"); i > 0; i--) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, brief, NULL))
			return 1;
		pthread_join(thread, NULL);
	}
	printf("{\"work\": %lld}\n", used);
	return 0;
}
