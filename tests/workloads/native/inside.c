/*
 * A program that profiles itself with libvestal and knows its own shares:
 *	inside SECONDS THREADS
 * Every thread works in three functions, the second inside a span and the third with a label.
 * Options come from the environment.
 */
#include <pthread.h>
#include <stdlib.h>
#include <vestal.h>

#include "truth.h"

#define THREADS_MAX 64

static __thread volatile uint64_t sink;
/* Of 1024: turns of equal length would keep step with the ticks that end a thread's share. */
static __thread uint32_t length = 1024;
static int64_t spent[THREADS_MAX][3];
static double seconds;

NOINLINE uint64_t work_plain(uint64_t x)
{
	return churn(x, 480000 / 1024 * length) + sink;
}

NOINLINE uint64_t work_in_span(uint64_t x)
{
	return churn(x, 240000 / 1024 * length) + sink;
}

NOINLINE uint64_t work_labelled(uint64_t x)
{
	return churn(x, 80000 / 1024 * length) + sink;
}

static void measure(int64_t *sum, uint64_t (*work)(uint64_t))
{
	int64_t start = cpu_ns();

	sink += work(sink);
	*sum += cpu_ns() - start;
}

NOINLINE void descend(int depth, int64_t *sums)
{
	static const uint8_t trace[16] = {0x0a, 0xf7, 0x65, 0x19, 0x16, 0xcd, 0x43, 0xdd,
					  0x84, 0x48, 0xeb, 0x21, 0x1c, 0x80, 0x31, 0x9c};
	static const uint8_t span[8] = {0xb7, 0xad, 0x6b, 0x71, 0x69, 0x20, 0x33, 0x31};

	if (depth) {
		descend(depth - 1, sums);
		sink++;
		return;
	}
	length = 512 + (length * 1103515245u + 12345u) % 1021;
	measure(&sums[0], work_plain);
	vestal_span_enter(trace, span, "checkout.totals");
	measure(&sums[1], work_in_span);
	vestal_span_exit(0);
	vestal_label_set("endpoint", "/cart");
	measure(&sums[2], work_labelled);
	vestal_label_set("endpoint", NULL);
	sink++;
}

static void *run(void *sums)
{
	int64_t end = cpu_ns() + (int64_t)(seconds * 1e9);

	while (cpu_ns() < end)
		descend(25, sums);
	return NULL;
}

int main(int argc, char **argv)
{
	int threads = atoi(argc > 2 ? argv[2] : "1");
	struct vestal_options o = VESTAL_OPTIONS_DEFAULT;
	struct vestal_counts counts = VESTAL_COUNTS_INIT;
	pthread_t ids[THREADS_MAX];
	long long sums[3] = {0};
	struct vestal *v;

	seconds = atof(argc > 1 ? argv[1] : "1");
	if (vestal_start(&o, &v)) {
		fprintf(stderr, "%s\n", vestal_last_error());
		return 1;
	}
	for (int i = 1; i < threads && i < THREADS_MAX; i++)
		if (pthread_create(&ids[i], NULL, run, spent[i]))
			return 1;
	run(spent[0]);
	for (int i = 1; i < threads && i < THREADS_MAX; i++)
		pthread_join(ids[i], NULL);
	vestal_stop(v);
	vestal_counts_get(v, &counts);
	for (int i = 0; i < THREADS_MAX; i++)
		for (int k = 0; k < 3; k++)
			sums[k] += spent[i][k];
	printf("{\"work_plain\": %lld, \"work_in_span\": %lld, \"work_labelled\": %lld}\n", sums[0],
	       sums[1], sums[2]);
	fprintf(stderr, "samples %llu lost %llu exports %llu failed %llu\n",
		(unsigned long long)counts.samples, (unsigned long long)counts.lost,
		(unsigned long long)counts.exports, (unsigned long long)counts.exports_failed);
	return 0;
}
