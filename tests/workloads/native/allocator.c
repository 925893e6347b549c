/*
 * Allocations of known sizes at known places, some of which stay:
 *	allocator MIB
 * Every function allocates as many MiB in all, in pieces of its own size; `keep_` ones keep half.
 */
#include <stdlib.h>
#include <string.h>

#include "truth.h"

static void *volatile last;
static long long bytes_of_each;

static void touch(void *p)
{
	last = p;
}

NOINLINE void alloc_tiny(void)
{
	for (long long done = 0; done < bytes_of_each; done += 16) {
		touch(malloc(16));
		free(last);
	}
}

NOINLINE void alloc_small(void)
{
	for (long long done = 0; done < bytes_of_each; done += 512) {
		touch(calloc(4, 128));
		free(last);
	}
}

NOINLINE void alloc_large(void)
{
	for (long long done = 0; done < bytes_of_each; done += 1 << 20) {
		touch(malloc(1 << 20));
		free(last);
	}
}

NOINLINE void alloc_huge(void)
{
	for (long long done = 0; done < bytes_of_each; done += 4 << 20) {
		touch(malloc(4 << 20));
		free(last);
	}
}

NOINLINE void alloc_aligned(void)
{
	for (long long done = 0; done < bytes_of_each; done += 4096) {
		void *p;

		if (posix_memalign(&p, 4096, 4096))
			abort();
		touch(p);
		free(last);
	}
}

/* Half of it stays, by realloc from half the size. */
NOINLINE void keep_some(void)
{
	for (long long done = 0; done < bytes_of_each; done += 2048) {
		touch(malloc(1024));
		if (done & 2048)
			free(last);
	}
}

NOINLINE void keep_grown(void)
{
	for (long long done = 0; done < bytes_of_each; done += 8192)
		touch(realloc(malloc(4096), 4096 + 4096));
}

NOINLINE void deep(int depth, void (*work)(void))
{
	if (depth)
		deep(depth - 1, work);
	else
		work();
	last = NULL;
}

int main(int argc, char **argv)
{
	bytes_of_each = atoll(argc > 1 ? argv[1] : "64") << 20;
	alloc_tiny();
	alloc_small();
	deep(40, alloc_large);
	deep(100, alloc_huge);
	deep(90, alloc_aligned);
	deep(40, keep_some);
	keep_grown();
	printf("{\"alloc\": {\"alloc_tiny\": %lld, \"alloc_small\": %lld, \"alloc_large\": %lld, "
	       "\"alloc_huge\": %lld, \"alloc_aligned\": %lld, \"keep_some\": %lld, "
	       "\"keep_grown\": %lld}, "
	       "\"heap\": {\"keep_some\": %lld, \"keep_grown\": %lld}}\n",
	       bytes_of_each, bytes_of_each, bytes_of_each,
	       (bytes_of_each + (4 << 20) - 1) >> 22 << 22, bytes_of_each, bytes_of_each / 2,
	       bytes_of_each + bytes_of_each / 2, bytes_of_each / 4, bytes_of_each);
	return 0;
}
