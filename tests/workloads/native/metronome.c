/*
 * Works in step with a clock: every PERIOD_US two functions, one after the other, each for a fixed
 * part of the period, then sleep until the next beat.
 *	metronome SECONDS PERIOD_US
 */
#include <stdlib.h>

#include "truth.h"

static volatile uint64_t sink;
static int64_t spent[2];

static void work_for(int which, int64_t ns)
{
	int64_t start = cpu_ns();

	while (cpu_ns() - start < ns)
		sink += churn(sink, 200);
	spent[which] += cpu_ns() - start;
}

NOINLINE void first_beat(int64_t ns)
{
	work_for(0, ns);
	sink++;
}

NOINLINE void second_beat(int64_t ns)
{
	work_for(1, ns);
	sink++;
}

int main(int argc, char **argv)
{
	int64_t end = wall_ns() + (int64_t)(atof(argc > 1 ? argv[1] : "2") * 1e9);
	int64_t period = atoll(argc > 2 ? argv[2] : "10000") * 1000, next = wall_ns();

	while (wall_ns() < end) {
		struct timespec until;

		first_beat(period / 5);
		second_beat(period / 10);
		/* A beat that was missed stays missed: the others stay where they are. */
		while (next <= wall_ns())
			next += period;
		until = (struct timespec){next / 1000000000, next % 1000000000};
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
	}
	printf("{\"first_beat\": %lld, \"second_beat\": %lld}\n", (long long)spent[0],
	       (long long)spent[1]);
	return 0;
}
