/* A library that is opened, used and closed, twice. */
#include "truth.h"

static volatile uint64_t sink;

NOINLINE void work_in_plugin(void)
{
	int64_t end = cpu_ns() + 600000000;

	while (cpu_ns() < end)
		sink += churn(sink, 5000);
}
