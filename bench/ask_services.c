/*
 * ask_services DIR ROUNDS [SHIFT [FIGURE]]: queries about all services of a store made by
 * fill_services. Prints the CPU time of the querying thread for the first round and the minimum of
 * the others, the number of results, and a hash of the answers of the last round to compare builds.
 * Each round queries a range SHIFT milliseconds later than the one before.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/hash.h"
#include "store/store.h"

#define RANGE_NS (3600 * NS_PER_S)
#define STEP_NS	 (60 * NS_PER_S)

struct asking {
	struct store *store;
	struct str tenant;
	int64_t until_ns;
	uint64_t hash;
	size_t n;
	bool times; /* include the profiled time in the hash */
};

struct figure {
	const char *name;
	enum err (*ask)(struct asking *a, struct ask *ask);
	double first, least;
	uint64_t hash;
	size_t n;
};

static double cpu_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static void mix(struct asking *a, const void *bytes, size_t n)
{
	a->hash = hash_mix(a->hash, hash_bytes(bytes, n, 1));
}

static void mix_str(struct asking *a, struct str s)
{
	mix(a, s.p, s.n);
}

static struct selection range_of(const struct asking *a)
{
	return (struct selection){.from_ns = a->until_ns - RANGE_NS, .until_ns = a->until_ns};
}

static void mix_series(struct asking *a, const struct series_points *s)
{
	mix_str(a, s->type);
	mix(a, &s->total, sizeof(s->total));
	mix(a, &s->whole, sizeof(s->whole));
	if (a->times)
		mix(a, &s->covered_ns, sizeof(s->covered_ns));
}

static enum err each_service(void *context, struct str service, const struct series_answer *answers)
{
	struct asking *a = context, own = {.times = a->times};

	mix_str(&own, service);
	for (size_t r = 0; r < SERVICES_RANGES; r++)
		for (size_t i = 0; i < answers[r].n; i++)
			mix_series(&own, &answers[r].series[i]);
	/* Services come in any order. */
	a->hash += own.hash;
	a->n++;
	return ERR_OK;
}

static enum err ask_all(struct asking *a, bool totals_only, struct ask *ask)
{
	struct selection s = range_of(a);
	struct services_question what = {
		.ranges = {{s.from_ns, s.until_ns}, {s.from_ns - RANGE_NS, s.from_ns}},
		.range_count = 2,
		.step_ns = STEP_NS,
		.totals_only = totals_only,
	};
	struct services_answer whole = {0};

	TRY(store_services(a->store, a->tenant, &s, &what, ask, each_service, a, &whole));
	for (size_t i = 0; i < whole.n; i++) {
		mix_str(a, whole.types[i].type);
		mix(a, &whole.types[i].covered_ns, sizeof(int64_t));
	}
	arena_release(&whole.arena);
	return ERR_OK;
}

static enum err ask_series(struct asking *a, struct ask *ask)
{
	a->times = true;
	return ask_all(a, false, ask);
}

/* Hashed as the totals are. */
static enum err ask_series_totals(struct asking *a, struct ask *ask)
{
	a->times = false;
	return ask_all(a, false, ask);
}

static enum err ask_totals(struct asking *a, struct ask *ask)
{
	a->times = false;
	return ask_all(a, true, ask);
}

static enum err take_texts(struct asking *a, struct text_answer *texts)
{
	for (size_t i = 0; i < texts->n; i++)
		mix_str(a, texts->v[i]);
	a->n = texts->n;
	arena_release(&texts->arena);
	return ERR_OK;
}

static enum err ask_names(struct asking *a, struct ask *ask)
{
	struct selection s = range_of(a);
	struct text_answer texts = {0};

	TRY(store_label_names(a->store, a->tenant, &s, ask, &texts));
	return take_texts(a, &texts);
}

static enum err ask_values_of(struct asking *a, struct str name, struct ask *ask)
{
	struct selection s = range_of(a);
	struct text_answer texts = {0};

	TRY(store_label_values(a->store, a->tenant, name, &s, 0, ask, &texts));
	return take_texts(a, &texts);
}

static enum err ask_services(struct asking *a, struct ask *ask)
{
	return ask_values_of(a, STR("service_name"), ask);
}

static enum err ask_pods(struct asking *a, struct ask *ask)
{
	return ask_values_of(a, STR("pod"), ask);
}

static enum err ask_types(struct asking *a, struct ask *ask)
{
	struct selection s = range_of(a);
	struct text_answer texts = {0};

	TRY(store_types(a->store, a->tenant, &s, ask, &texts));
	return take_texts(a, &texts);
}

static enum err measure(struct asking *a, struct figure *f, unsigned round)
{
	struct fault fault = {0};
	struct ask ask = {.fault = &fault};
	double before = cpu_ms(), took;
	enum err error;

	a->hash = a->n = 0;
	error = f->ask(a, &ask);
	took = cpu_ms() - before;
	if (error != ERR_OK) {
		fprintf(stderr, "%s: %s %s\n", f->name, err_text(error), fault.text);
		return error;
	}
	mix(a, &ask.chunks, sizeof(ask.chunks));
	mix(a, &ask.blocks, sizeof(ask.blocks));
	mix(a, &ask.rollups, sizeof(ask.rollups));
	mix(a, &ask.rows, sizeof(ask.rows));
	mix(a, &ask.bytes, sizeof(ask.bytes));
	if (!round)
		f->first = took;
	else if (round == 1 || took < f->least)
		f->least = took;
	f->hash = a->hash;
	f->n = a->n;
	return ERR_OK;
}

static bool is_wanted(const struct figure *f, const char *only)
{
	return !only || strcmp(f->name, only) == 0;
}

static enum err run(struct asking *a, unsigned rounds, int64_t shift_ns, const char *only)
{
	static struct figure figures[] = {
		{.name = "totals", .ask = ask_totals},
		{.name = "series", .ask = ask_series},
		{.name = "…totals", .ask = ask_series_totals},
		{.name = "names", .ask = ask_names},
		{.name = "services", .ask = ask_services},
		{.name = "pods", .ask = ask_pods},
		{.name = "types", .ask = ask_types},
	};
	size_t n = sizeof(figures) / sizeof(figures[0]);

	for (unsigned round = 0; round < rounds; round++) {
		for (size_t i = 0; i < n; i++)
			if (is_wanted(&figures[i], only))
				TRY(measure(a, &figures[i], round));
		a->until_ns += shift_ns;
	}
	for (size_t i = 0; i < n; i++)
		if (is_wanted(&figures[i], only))
			printf("%-9s first %8.1f ms, then %8.1f ms, %zu, %016llx\n",
			       figures[i].name, figures[i].first, figures[i].least, figures[i].n,
			       (unsigned long long)figures[i].hash);
	return ERR_OK;
}

int main(int argc, char **argv)
{
	struct store_options options = store_options_default;
	struct asking a = {.tenant = STR("anonymous")};
	struct store_stats stats;
	struct fault fault = {0};
	enum err error;

	if (argc < 3) {
		fprintf(stderr, "ask_services DIR ROUNDS [SHIFT [FIGURE]]\n");
		return 2;
	}
	options.directory = argv[1];
	options.limits.max_series = UINT32_MAX;
	error = store_open(&options, &a.store, &fault);
	if (error == ERR_OK) {
		error = store_stats(a.store, a.tenant, &stats);
		a.until_ns = stats.newest_ns + 720 * NS_PER_S;
		if (error == ERR_OK)
			error = run(&a, (unsigned)atoi(argv[2]),
				    argc > 3 ? atoll(argv[3]) * NS_PER_MS : 0,
				    argc > 4 ? argv[4] : NULL);
		store_close(a.store);
	}
	if (error != ERR_OK)
		fprintf(stderr, "%s %s\n", err_text(error), fault.text);
	return error != ERR_OK;
}
