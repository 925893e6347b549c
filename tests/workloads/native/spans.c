/*
 * Requests of known length, each in a span, some of which fail:
 *
 *	spans SECONDS MILLISECONDS
 *
 * Some work for 120 ms, some for 3 ms, some for 3 ms and fail, some sleep for 40 ms and work for 3.
 * Prints as JSON the CPU time of those that took longer than MILLISECONDS, of those that failed, of
 * those that used more than 20 % of a CPU, of those at the limit, and of all.
 */
#include <stdlib.h>
#include <vestal.h>

#include "truth.h"

static volatile uint64_t sink;
static const uint8_t trace[16] = {1}, span[8] = {2}, inner[8] = {3};
static int64_t limit_ns, slow, failing, busy, doubtful, all;

static void work_for(int64_t ms)
{
	int64_t end = cpu_ns() + ms * 1000000;

	while (cpu_ns() < end)
		sink += churn(sink, 2000);
}

NOINLINE void handle_slow(void)
{
	/* What is slow is all of it, also what is inside another span. */
	vestal_span_enter(trace, inner, "part");
	work_for(60);
	vestal_span_exit(0);
	work_for(60);
	sink++;
}

NOINLINE void handle_quick(void)
{
	work_for(3);
	sink++;
}

NOINLINE void handle_failing(void)
{
	work_for(3);
	sink++;
}

NOINLINE void handle_idle(void)
{
	struct timespec t = {0, 40000000};

	nanosleep(&t, NULL);
	work_for(3);
	sink++;
}

static void request(void (*handle)(void), int failed)
{
	int64_t start = cpu_ns(), began = wall_ns(), used, lasted;

	vestal_span_enter(trace, span, "request");
	handle();
	vestal_span_exit(failed);
	used = cpu_ns() - start;
	lasted = wall_ns() - began;
	all += used;
	/* A part of one may have had more than the whole, on a machine with other things to do. */
	if (used * 100 >= lasted * 22)
		busy += used;
	else if (used * 100 >= lasted * 8)
		doubtful += used;
	if (failed)
		failing += used;
	else if (lasted >= limit_ns)
		slow += used;
}

int main(int argc, char **argv)
{
	int64_t end = wall_ns() + (int64_t)((argc > 1 ? atof(argv[1]) : 1) * 1e9);
	struct vestal *v;

	limit_ns = (argc > 2 ? atoi(argv[2]) : 100) * 1000000LL;
	if (vestal_start(NULL, &v)) {
		fprintf(stderr, "%s\n", vestal_last_error());
		return 1;
	}
	while (wall_ns() < end) {
		request(handle_slow, 0);
		for (int i = 0; i < 10; i++)
			request(handle_quick, 0);
		for (int i = 0; i < 5; i++)
			request(handle_failing, 1);
		request(handle_idle, 0);
	}
	vestal_stop(v);
	printf("{\"slow\": %lld, \"failed\": %lld, \"busy\": %lld, \"doubtful\": %lld, \"all\": "
	       "%lld}\n",
	       (long long)slow, (long long)failing, (long long)busy, (long long)doubtful,
	       (long long)all);
	return 0;
}
