/*
 * System calls by the 32-bit entry (int $0x80), whose numbers mean other calls than those of the
 * 64-bit one. Prints what each function did: bytes that it mapped, nanoseconds of turns. Where the
 * kernel has no such entry it prints {}.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <unistd.h>

#include "truth.h"

#define MIB	     ((size_t)1 << 20)
#define CHDIR32	     12 /* brk of the 64-bit entry */
#define MMAP2_32     192
#define EPOLL_WAIT32 256
#define TURNS	     100
#define TURN_NS	     8000000

static volatile uint64_t sink;

static int call32(int number, uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
	int result;

	__asm__ volatile("int $0x80"
			 : "=a"(result)
			 : "a"(number), "b"(a), "c"(b), "d"(c), "S"(d), "D"(-1)
			 : "memory", "r8", "r9", "r10", "r11");
	return result;
}

static void no_entry(int signal)
{
	static const char empty[] = "{}\n";

	(void)signal;
	_exit(write(1, empty, sizeof(empty) - 1) < 0);
}

NOINLINE void map_by_32(void)
{
	for (int i = 0; i < 20; i++)
		if ((uint32_t)call32(MMAP2_32, 0, 4 * MIB, PROT_READ | PROT_WRITE,
				     MAP_PRIVATE | MAP_ANONYMOUS) > -4096u)
			abort();
	sink++;
}

/* Were it taken for brk, all of the heap would come anew with the next brk. */
NOINLINE void change_directory_by_32(char *low)
{
	strcpy(low, ".");
	if (call32(CHDIR32, (uint32_t)(uintptr_t)low, 0, 0, 0))
		abort();
	sink++;
}

NOINLINE void grow_heap(size_t bytes)
{
	if (sbrk((intptr_t)bytes) == (void *)-1)
		abort();
	sink++;
}

NOINLINE void grow_a_little(void)
{
	grow_heap(4096);
	sink++;
}

NOINLINE int64_t turn_by_32(int loop, char *low)
{
	int64_t begin = wall_ns();

	while (wall_ns() < begin + TURN_NS)
		sink += churn(sink, 1000);
	/* The turn ends here. */
	begin = wall_ns() - begin;
	if (call32(EPOLL_WAIT32, (uint32_t)loop, (uint32_t)(uintptr_t)low, 1, 1) < 0)
		abort();
	return begin;
}

int main(void)
{
	char *low = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
	int loop = epoll_create1(0);
	int64_t turns = 0;

	if (low == MAP_FAILED)
		return 1;
	signal(SIGSEGV, no_entry);
	map_by_32();
	grow_heap(16 * MIB);
	change_directory_by_32(low);
	grow_a_little();
	/* The first begins when it has waited once. */
	turn_by_32(loop, low);
	for (int i = 0; i < TURNS; i++)
		turns += turn_by_32(loop, low);
	printf("{\"map_by_32\": %zu, \"turn_by_32\": %lld}\n", 80 * MIB, (long long)turns);
	return 0;
}
