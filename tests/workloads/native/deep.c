/* A stack of as many frames as the argument says, with work at its end. */
#include <stdlib.h>

#include "truth.h"

static volatile uint64_t sink;

NOINLINE void work_at_the_end(void)
{
	int64_t end = cpu_ns() + 1000000000;

	while (cpu_ns() < end)
		sink += churn(sink, 10000);
}

NOINLINE int step_down(int depth)
{
	if (depth)
		return step_down(depth - 1) + (int)(sink & 1);
	work_at_the_end();
	return 1;
}

int main(int argc, char **argv)
{
	return step_down(atoi(argc > 1 ? argv[1] : "900")) < 0;
}
