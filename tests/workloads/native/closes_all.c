/*
 * closes_all SECONDS: works, closes all descriptors but the first three, opens as many of its own,
 * works on, and looks whether its own are still there. Prints its work and that.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "truth.h"

#define DESCRIPTORS 1024

static volatile uint64_t sink;
static int64_t others;

NOINLINE void work(int64_t length)
{
	int64_t end = cpu_ns() + length;

	while (cpu_ns() < end)
		sink += churn(sink, 2000);
}

static void *brief(void *unused)
{
	work(10000000);
	others += cpu_ns();
	return unused;
}

int main(int argc, char **argv)
{
	int64_t length = (int64_t)(atof(argc > 1 ? argv[1] : "1") * 5e8);
	static char ours[DESCRIPTORS];
	struct stat facts;
	int kept = 1, fd;

	work(length);
	for (fd = 3; fd < DESCRIPTORS; fd++)
		close(fd);
	while ((fd = open("/dev/zero", O_RDONLY)) >= 0 && fd < DESCRIPTORS)
		ours[fd] = 1;
	work(length);
	for (int i = 0; i < 20; i++) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, brief, NULL))
			return 1;
		pthread_join(thread, NULL);
	}
	for (fd = 3; fd < DESCRIPTORS; fd++)
		kept = kept && (!ours[fd] || (fstat(fd, &facts) == 0 && S_ISCHR(facts.st_mode)));
	printf("{\"work\": %lld, \"kept\": %d}\n", (long long)(cpu_ns() + others), kept);
	return 0;
}
