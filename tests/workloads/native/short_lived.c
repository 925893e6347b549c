/* Many processes of a few milliseconds: short_lived COUNT runs itself so often, two at a time. */
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "truth.h"

static volatile uint64_t sink;

NOINLINE void work_briefly(void)
{
	int64_t end = cpu_ns() + 5000000;

	while (cpu_ns() < end)
		sink += churn(sink, 5000);
}

int main(int argc, char **argv)
{
	volatile int running = 0;
	int count = argc > 1 ? atoi(argv[1]) : 0;

	if (!count) {
		work_briefly();
		return 0;
	}
	for (int i = 0; i < count; i++) {
		if (running == 2 && wait(NULL) > 0)
			running--;
		if (!vfork()) {
			execl(argv[0], argv[0], (char *)NULL);
			_exit(127);
		}
		running++;
	}
	while (wait(NULL) > 0)
		;
	return 0;
}
