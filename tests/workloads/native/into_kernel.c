/*
 * Time in a function and time in the kernel below another, in turns of no fixed length:
 *	into_kernel SECONDS
 */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "truth.h"

static volatile uint64_t sink;
static int64_t spent[2];
static uint32_t dice = 1;
static int zeros;
static char room[1 << 18];

NOINLINE void work_outside(uint32_t rounds)
{
	sink += churn(sink, (int)rounds * 8);
}

NOINLINE void work_inside(uint32_t bytes)
{
	if (read(zeros, room, bytes) < 0)
		abort();
	sink++;
}

static void measure(int which, void (*work)(uint32_t), uint32_t most)
{
	int64_t start = cpu_ns();

	dice = dice * 1664525u + 1013904223u;
	work(most / 2 + (dice >> 8) % (most / 2));
	spent[which] += cpu_ns() - start;
}

int main(int argc, char **argv)
{
	int64_t end = cpu_ns() + (int64_t)(atof(argc > 1 ? argv[1] : "1") * 1e9);

	zeros = open("/dev/zero", O_RDONLY);
	while (cpu_ns() < end) {
		measure(0, work_outside, 6000);
		measure(1, work_inside, sizeof(room));
	}
	printf("{\"work_outside\": %lld, \"work_inside\": %lld, \"all\": %lld}\n",
	       (long long)spent[0], (long long)spent[1], (long long)cpu_ns());
	return 0;
}
