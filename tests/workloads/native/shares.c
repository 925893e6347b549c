/*
 * Three functions with known shares of the time, 25 calls below main:
 *	shares SECONDS
 */
#include <stdlib.h>

#include "truth.h"

static volatile uint64_t sink;
static int64_t spent[3];

NOINLINE uint64_t work_most(uint64_t x)
{
	return churn(x, 480000) + sink;
}

NOINLINE uint64_t work_some(uint64_t x)
{
	return churn(x, 240000) + sink;
}

NOINLINE uint64_t work_little(uint64_t x)
{
	return churn(x, 80000) + sink;
}

static void measure(int which, uint64_t (*work)(uint64_t))
{
	int64_t start = cpu_ns();

	sink += work(sink);
	spent[which] += cpu_ns() - start;
}

NOINLINE void descend(int depth)
{
	if (depth) {
		descend(depth - 1);
		sink++;
		return;
	}
	measure(0, work_most);
	measure(1, work_some);
	measure(2, work_little);
	sink++;
}

int main(int argc, char **argv)
{
	int64_t end = cpu_ns() + (int64_t)(atof(argc > 1 ? argv[1] : "2") * 1e9);

	while (cpu_ns() < end)
		descend(25);
	printf("{\"work_most\": %lld, \"work_some\": %lld, \"work_little\": %lld}\n",
	       (long long)spent[0], (long long)spent[1], (long long)spent[2]);
	return 0;
}
