/* Always the same work, for stopwatches: fixed_work ROUNDS, each about a millisecond. */
#include <stdlib.h>

#include "truth.h"

#define WORDS (1 << 18)

static uint64_t memory[WORDS];

/* Some of it in registers, some of it all over the memory. */
NOINLINE uint64_t work_round(uint64_t x)
{
	for (int i = 0; i < 2000; i++) {
		x = churn(x, 300);
		memory[x >> 46] += x;
	}
	return x + memory[x >> 46];
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 1000;
	uint64_t x = 1;

	while (rounds-- > 0)
		x = work_round(x);
	return x == 42;
}
