/*
 * A program that profiles itself with libvestal, again and again, and works meanwhile:
 *	life ROUNDS [fork]
 * Options come from the environment. With "fork" every round has a child that profiles itself too.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vestal.h>

#include "truth.h"

static volatile uint64_t sink;

static NOINLINE void spend(int64_t ns)
{
	int64_t end = cpu_ns() + ns;

	while (cpu_ns() < end)
		sink += churn(sink, 2000);
}

static void *work(void *unused)
{
	static const uint8_t trace[16] = {1}, span[8] = {2};
	char value[16] = "part 0";

	for (int i = 0; i < 5; i++) {
		value[5] = (char)('0' + i);
		vestal_span_enter(trace, span, "life.work");
		vestal_label_set("part", value);
		spend(20000000);
		vestal_span_exit(i == 4);
	}
	return unused;
}

static int live(void)
{
	struct vestal_options o = VESTAL_OPTIONS_DEFAULT;
	struct vestal *v;
	pthread_t threads[3];

	o.export_interval_ms = 100;
	if (vestal_start(&o, &v)) {
		fprintf(stderr, "%s\n", vestal_last_error());
		return 1;
	}
	for (int i = 0; i < 3; i++)
		if (pthread_create(&threads[i], NULL, work, NULL))
			return 1;
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	vestal_stop(v);
	return 0;
}

int main(int argc, char **argv)
{
	for (int i = atoi(argc > 1 ? argv[1] : "3"); i > 0; i--) {
		pid_t child = argc > 2 && !strcmp(argv[2], "fork") ? fork() : -1;
		int status = 0;

		if (!child)
			return live();
		if (live() || (child > 0 && (waitpid(child, &status, 0) != child || status)))
			return 1;
	}
	printf("lived\n");
	return 0;
}
