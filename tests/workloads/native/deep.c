/* A stack of as many frames as the first argument says, with work at its end for as many seconds as
 * the second does (1). */
#include <stdlib.h>

#include "truth.h"

static volatile uint64_t sink;
static int64_t length = 1000000000;

NOINLINE void work_at_the_end(void)
{
	int64_t end = cpu_ns() + length;

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
	if (argc > 2)
		length = atoll(argv[2]) * 1000000000;
	return step_down(atoi(argc > 1 ? argv[1] : "900")) < 0;
}
