/*
 * Two threads that hand a byte to and fro as fast as they can, and one that waits a long time for
 *each of some others: many switches that are worth little. Prints how long the long ones were.
 *	pingpong SECONDS
 */
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "truth.h"

static int there[2], back[2];
static int64_t waited, end;

NOINLINE void pass_on(int from, int to)
{
	char byte;

	if (read(from, &byte, 1) == 1 && write(to, &byte, 1) != 1)
		abort();
}

static void *return_it(void *unused)
{
	for (;;)
		pass_on(there[0], back[1]);
	return unused;
}

static void *hand_out(void *unused)
{
	if (write(there[1], "x", 1) != 1)
		abort();
	for (;;)
		pass_on(back[0], there[1]);
	return unused;
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
	pthread_t one, other;

	end = wall_ns() + (int64_t)(atof(argc > 1 ? argv[1] : "3") * 1e9);
	if (pipe(there) || pipe(back))
		return 1;
	pthread_create(&one, NULL, return_it, NULL);
	pthread_create(&other, NULL, hand_out, NULL);
	while (wall_ns() < end)
		wait_long();
	printf("{\"wait_long\": %lld}\n", (long long)waited);
	fflush(stdout);
	_exit(0);
}
