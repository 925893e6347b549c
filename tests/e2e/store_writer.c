/*
 * Writes to a store until it is killed, and then reports what the store contains; also measures.
 *
 *	store_writer write DIR FIRST	batches FIRST, FIRST + 1 … from 8 threads; prints "ack N"
 *					when N is durable
 *	store_writer keep DIR FIRST	the same, with deletes, compaction and roll-ups
 *	store_writer read DIR		prints "N SUM" for every batch; a complete one has the sum 3
 *	store_writer measure DIR THREADS BATCHES
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/thread.h"
#include "store/store.h"

#define TYPE   "process_cpu:cpu:nanoseconds:cpu:nanoseconds"
#define DAY_NS (86400 * NS_PER_S)

static struct store *store;
static atomic_int next_batch;
static int last_batch = 1 << 30;
static bool quiet;
static int rows_per_profile = 4;
static int64_t *took;

struct waiter {
	struct mutex lock;
	struct cond changed;
	bool done;
	enum err error;
};

static void die(const char *what, enum err error, const struct fault *fault)
{
	fprintf(stderr, "store_writer: %s: %s %s\n", what, err_text(error),
		fault ? fault->text : "");
	exit(1);
}

static void done(void *context, enum err error, const struct fault *fault)
{
	struct waiter *w = context;

	if (error)
		die("commit", error, fault);
	mutex_lock(&w->lock);
	w->done = true;
	w->error = error;
	cond_signal(&w->changed);
	mutex_unlock(&w->lock);
}

/* A profile of one nanosecond in all, spread over nothing: the first row has it. */
static enum err fill(struct profile *p, struct dict *d, int n)
{
	enum err e = profile_add_type(p, STR("cpu"), STR("nanoseconds"));

	for (int i = 0; !e && i < rows_per_profile; i++) {
		char name[40];
		uint32_t frames[3];
		struct row row = {0};
		int64_t value = i ? 0 : 1;

		if (quiet)
			value = 1 + (n * 7 + i) % 5;
		snprintf(name, sizeof(name), "leaf_%d", (n * 31 + i * (i + 3)) % 4000);
		e = dict_named_frame(d, str_of(name), &frames[0]);
		snprintf(name, sizeof(name), "middle_%d", i % 200);
		if (!e)
			e = dict_named_frame(d, str_of(name), &frames[1]);
		if (!e)
			e = dict_named_frame(d, STR("main"), &frames[2]);
		if (!e)
			e = dict_stack(d, frames, 3, &row.stack);
		if (!e)
			e = profile_add(p, &row, &value);
	}
	return e;
}

static enum err add(struct store_batch *b, const char *service, int n, int64_t time_ns)
{
	static const struct str types[] = {{TYPE, sizeof(TYPE) - 1}};
	struct label_pair labels[2];
	struct series_profile sp = {.labels = labels, .label_count = 2, .types = types};
	struct fault fault = {0};
	struct profile p;
	struct dict d;
	char number[20];
	enum err e = dict_init(&d, store_seed(store));

	profile_init(&p, &d);
	snprintf(number, sizeof(number), "%d", quiet ? n % 40 : n);
	labels[0] = (struct label_pair){STR("n"), str_of(number)};
	labels[1] = (struct label_pair){STR("service_name"), str_of(service)};
	if (!e)
		e = fill(&p, &d, n);
	sp.profile = &p;
	sp.time_ns = time_ns;
	if (!e)
		e = store_batch_add(b, &sp, &fault);
	if (e)
		die("add", e, &fault);
	profile_release(&p);
	dict_release(&d);
	return e;
}

static void commit(struct store_batch *b, struct waiter *w)
{
	w->done = false;
	store_batch_commit(b, done, w);
	mutex_lock(&w->lock);
	while (!w->done)
		cond_wait(&w->changed, &w->lock);
	mutex_unlock(&w->lock);
}

/* Three profiles: two services, and in every fourth batch one of the day before. */
static void write_all(void *context)
{
	struct waiter w = {0};
	int n;

	(void)context;
	mutex_init(&w.lock);
	cond_init(&w.changed);
	while ((n = atomic_fetch_add(&next_batch, 1)) < last_batch) {
		int64_t time = clock_wall_ns() - n % 1800 * NS_PER_S, begin;
		struct store_batch *b;
		enum err e = store_batch_new(store, STR("anonymous"), &b, NULL);
		char line[40], service[20];

		if (e)
			die("batch", e, NULL);
		snprintf(service, sizeof(service), "service_%d", n % 20);
		if (quiet) {
			add(b, service, n, time);
		} else {
			add(b, "cart", n, time);
			add(b, "shop", n, time);
			add(b, "cart", n, n % 4 ? time : time - DAY_NS);
		}
		begin = clock_monotonic_ns();
		commit(b, &w);
		if (took)
			took[n] = clock_monotonic_ns() - begin;
		/* One write, so that a line is there whole or not at all. */
		if (!quiet &&
		    write(1, line, (size_t)snprintf(line, sizeof(line), "ack %d\n", n)) < 0)
			exit(1);
	}
}

static void say(const char *what, int n)
{
	char line[40];

	if (write(1, line, (size_t)snprintf(line, sizeof(line), "%s %d\n", what, n)) < 0)
		exit(1);
}

/* Runs compaction and roll-ups continuously, and deletes every batch whose number ends in 7: prints
 * "going N" before, "gone N" after. */
static void keep_house(void *context)
{
	int n = atomic_load((atomic_int *)context);

	for (;; n++) {
		struct matcher matcher = {STR("n"), MATCH_EQUAL, {0}, NULL};
		struct selection all = {
			.matchers = &matcher, .matcher_count = 1, .until_ns = INT64_MAX / 2};
		struct fault fault = {0};
		struct ask ask = {.fault = &fault};
		uint64_t removed = 0;
		char number[20];

		if (n % 10 != 7)
			continue;
		while (atomic_load(&next_batch) < n + 20)
			clock_sleep_ns(NS_PER_MS);
		snprintf(number, sizeof(number), "%d", n);
		matcher.value = str_of(number);
		say("going", n);
		if (store_delete(store, STR("anonymous"), &all, &ask, &removed))
			die("delete", ERR_INTERNAL, &fault);
		say("gone", n);
		if (store_settle(store, true, &fault))
			die("settle", ERR_INTERNAL, &fault);
	}
}

static void run_threads(int n)
{
	struct thread threads[256] = {0};

	for (int i = 0; i < n; i++)
		if (thread_start(&threads[i], "writer", write_all, NULL))
			exit(1);
	for (int i = 0; i < n; i++)
		thread_join(&threads[i]);
}

static void read_all(void)
{
	static const struct str by = {"n", 1};
	struct series_question question = {.group_by = &by, .group_count = 1, .step_ns = DAY_NS};
	struct selection all = {.type = {TYPE, sizeof(TYPE) - 1},
				.from_ns = clock_wall_ns() - 3 * DAY_NS,
				.until_ns = clock_wall_ns() + DAY_NS};
	struct series_answer answer;
	struct fault fault = {0};
	struct ask ask = {.fault = &fault};
	enum err e = store_series(store, STR("anonymous"), &all, &question, &ask, &answer);

	if (e)
		die("series", e, &fault);
	for (size_t i = 0; i < answer.n; i++) {
		double sum = 0;

		for (size_t k = 0; k < answer.series[i].n; k++)
			if (answer.series[i].points[k].value == answer.series[i].points[k].value)
				sum += answer.series[i].points[k].value;
		printf("%.*s %.0f\n", (int)answer.series[i].labels[0].value.n,
		       answer.series[i].labels[0].value.p, sum);
	}
	arena_release(&answer.arena);
}

static int by_time(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static void say_size(const char *when)
{
	struct store_stats stats;

	if (store_stats(store, STR("anonymous"), &stats))
		exit(1);
	printf("%s: %llu profiles, %llu rows, %.2f B/row on disk, %llu commits\n", when,
	       (unsigned long long)stats.profiles, (unsigned long long)stats.rows,
	       (double)stats.disk_bytes / (double)stats.rows, (unsigned long long)stats.commits);
}

static void measure(int threads, int batches)
{
	int64_t begin = clock_monotonic_ns();
	double seconds;

	quiet = true;
	last_batch = batches;
	took = calloc((size_t)batches, sizeof(*took));
	run_threads(threads);
	seconds = (double)(clock_monotonic_ns() - begin) / 1e9;
	qsort(took, (size_t)batches, sizeof(*took), by_time);
	printf("%d threads, %d batches of %d rows: %.0f/s, p50 %.2f ms, p99 %.2f ms, longest "
	       "%.2f ms\n",
	       threads, batches, rows_per_profile, batches / seconds,
	       (double)took[batches / 2] / 1e6, (double)took[batches * 99LL / 100] / 1e6,
	       (double)took[batches - 1] / 1e6);
	say_size("fresh");
	begin = clock_monotonic_ns();
	if (store_settle(store, true, NULL))
		exit(1);
	printf("compaction %.2f s\n", (double)(clock_monotonic_ns() - begin) / 1e9);
	say_size("compacted");
	free(took);
}

int main(int argc, char **argv)
{
	struct store_options o = store_options_default;
	struct fault fault = {0};
	int64_t begin = clock_monotonic_ns();
	enum err e;

	if (argc < 3)
		return 2;
	o.directory = argv[2];
	e = store_open(&o, &store, &fault);
	if (e)
		die("open", e, &fault);
	if (strcmp(argv[1], "write") == 0 && argc == 4) {
		atomic_store(&next_batch, atoi(argv[3]));
		run_threads(8);
	} else if (strcmp(argv[1], "keep") == 0 && argc == 4) {
		struct thread house = {0};
		atomic_int first = atoi(argv[3]);

		atomic_store(&next_batch, atoi(argv[3]));
		if (thread_start(&house, "house", keep_house, &first))
			return 1;
		run_threads(8);
	} else if (strcmp(argv[1], "read") == 0) {
		read_all();
	} else if (strcmp(argv[1], "measure") == 0 && argc >= 5) {
		printf("open %.2f ms\n", (double)(clock_monotonic_ns() - begin) / 1e6);
		if (argc > 5)
			rows_per_profile = atoi(argv[5]);
		measure(atoi(argv[3]), atoi(argv[4]));
	} else {
		return 2;
	}
	store_close(store);
	return 0;
}
