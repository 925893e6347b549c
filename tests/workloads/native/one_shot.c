/*
 * Many processes that block once each and end: one_shot COUNT runs itself so often, one after the
 * other. Prints how long all of them were blocked, as they measured it themselves.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "truth.h"

struct tally {
	long long blocked, count;
};

NOINLINE void block_once(struct tally *t)
{
	struct timespec pause = {0, 10000000};
	int64_t start = wall_ns();

	nanosleep(&pause, NULL);
	t->blocked += wall_ns() - start;
	t->count++;
}

int main(int argc, char **argv)
{
	struct tally *t;
	int count = argc > 1 ? atoi(argv[1]) : 0;

	/* Run by itself: the tally is what descriptor 3 leads to. */
	if (!count) {
		t = mmap(NULL, sizeof(*t), PROT_READ | PROT_WRITE, MAP_SHARED, 3, 0);
		if (t == MAP_FAILED)
			return 1;
		block_once(t);
		return 0;
	}
	if (dup2(memfd_create("tally", 0), 3) != 3 || ftruncate(3, sizeof(*t)))
		return 1;
	t = mmap(NULL, sizeof(*t), PROT_READ | PROT_WRITE, MAP_SHARED, 3, 0);
	for (int i = 0; t != MAP_FAILED && i < count; i++) {
		if (!vfork()) {
			execl(argv[0], argv[0], (char *)NULL);
			_exit(127);
		}
		while (wait(NULL) > 0)
			;
	}
	printf("{\"block_once\": %lld, \"count\": %lld}\n", t->blocked, t->count);
	return 0;
}
