/*
 * Memory that is taken and never given back, in different ways, beside memory that is only used
 * again or reserved. Prints how many bytes each function took: leaker SECONDS
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "truth.h"

#define MIB    ((size_t)1 << 20)
#define ROUNDS 60

static char *used_again;
static volatile uint64_t sink;

/* The compiler must not see that nobody reads it. */
static void fill(char *p, size_t size)
{
	memset(p, 1, size);
	__asm__ volatile("" : : "r"(p) : "memory");
}

/* Through brk: two MiB a round in small blocks. */
NOINLINE void leak_small(void)
{
	for (size_t done = 0; done < 2 * MIB; done += 1024)
		fill(malloc(1008), 1008);
	sink++;
}

/* Through mmap: two blocks a round. */
NOINLINE void leak_large(void)
{
	for (int i = 0; i < 2; i++)
		fill(malloc(MIB), MIB);
	sink++;
}

/* The kernel touches it first. */
NOINLINE void leak_by_reading(int zero)
{
	char *p = mmap(NULL, MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED || read(zero, p, MIB) != (ssize_t)MIB)
		abort();
	sink++;
}

/* Two MiB with one fault, where the kernel has such pages. */
NOINLINE void leak_huge_page(void)
{
	char *p = mmap(NULL, 4 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		abort();
	p = (char *)(((uintptr_t)p + 2 * MIB - 1) & ~(2 * MIB - 1));
	madvise(p, 2 * MIB, MADV_HUGEPAGE);
	for (size_t i = 0; i < 2 * MIB; i += 4096)
		p[i] = 3;
	sink++;
}

NOINLINE void use_again(void)
{
	fill(used_again, 8 * MIB);
	sink++;
}

NOINLINE void reserve_only(void)
{
	if (mmap(NULL, 64 * MIB, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED)
		abort();
	sink++;
}

int main(int argc, char **argv)
{
	double seconds = atof(argc > 1 ? argv[1] : "2");
	int zero = open("/dev/zero", O_RDONLY);

	used_again = malloc(8 * MIB);
	fill(used_again, 8 * MIB);
	for (int round = 0; round < ROUNDS; round++) {
		leak_small();
		leak_large();
		leak_by_reading(zero);
		leak_huge_page();
		use_again();
		reserve_only();
		usleep((useconds_t)(seconds * 1e6 / ROUNDS));
	}
	printf("{\"leak_small\": %zu, \"leak_large\": %zu, \"leak_by_reading\": %zu, "
	       "\"leak_huge_page\": %zu}\n",
	       ROUNDS * 2 * MIB, ROUNDS * 2 * MIB, ROUNDS * MIB, ROUNDS * 2 * MIB);
	return 0;
}
