/*
 * Computed CPU time beside measured CPU time, in requests of their own and in any order: what an
 * answer adds up is measured where it was measured, and computed elsewhere.
 */
#include "engine_fixture.h"

#define MEASURED "process_cpu:cpu:nanoseconds:cpu:nanoseconds"
#define COMPUTED MEASURED TYPE_DERIVED
#define START	 (MODEL_NOW - DAY / 4)
#define SECOND	 NS_PER_S

struct sent {
	const char *type, *pod;
	int64_t start, length, value; /* seconds */
};

static enum err send_profile(struct store_batch *b, struct store *s, const struct sent *v)
{
	struct str type = str_of(v->type);
	struct label_pair labels[] = {{STR("pod"), str_of(v->pod)},
				      {STR("service_name"), STR("shop")}};
	struct series_profile series = {.labels = labels,
					.label_count = 2,
					.types = &type,
					.time_ns = START + v->start * SECOND,
					.duration_ns = v->length * SECOND};
	struct row row = {0};
	struct profile p;
	struct dict d;
	enum err e = dict_init(&d, store_seed(s));

	if (e)
		return e;
	profile_init(&p, &d);
	e = profile_add_type(&p, STR("cpu"), STR("nanoseconds"));
	if (!e)
		e = model_stack(&d, "main;work", &row.stack);
	if (!e)
		e = profile_add(&p, &row, &v->value);
	series.profile = &p;
	if (!e)
		e = store_batch_add(b, &series, NULL);
	profile_release(&p);
	dict_release(&d);
	return e;
}

/* A request each. */
static enum err send_all(struct fixture *f, const struct sent *v, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct store_batch *b;
		enum err e;

		TRY(store_batch_new(f->store, STR("acme"), &b, NULL));
		e = send_profile(b, f->store, &v[i]);
		if (e) {
			store_batch_abandon(b);
			return e;
		}
		TRY(commit(b));
	}
	return f->kind == IN_FILES_SETTLED ? store_settle(f->store, true, NULL) : ERR_OK;
}
#define SEND(f, v)                                                    \
	do {                                                          \
		OPEN(f);                                              \
		CHECK_OK(send_all(f, v, sizeof(v) / sizeof((v)[0]))); \
	} while (0)

static struct selection cpu_from(int64_t from, int64_t until)
{
	return (struct selection){.type = STR(MEASURED),
				  .from_ns = START + from * SECOND,
				  .until_ns = START + until * SECOND};
}

static int64_t merged(struct fixture *f, const struct selection *s)
{
	struct profile p;
	struct dict d;
	int64_t total = -1;

	if (dict_init(&d, store_seed(f->store)))
		return -1;
	profile_init(&p, &d);
	if (!store_merge(f->store, STR("acme"), s, NULL, 0, NULL, &p))
		total = p.type_count ? profile_total(&p, 0) : 0;
	profile_release(&p);
	dict_release(&d);
	return total;
}

/* The sum over the buckets of a line, which is of that type. */
static int64_t charted(struct fixture *f, const struct selection *s, bool each_type,
		       size_t *ret_series)
{
	struct series_question q = {.step_ns = 10 * SECOND, .each_type = each_type};
	struct series_answer answer;
	double sum = 0;

	if (store_series(f->store, STR("acme"), s, &q, NULL, &answer))
		return -1;
	for (size_t i = 0; i < answer.n; i++) {
		if (each_type && !str_eq(answer.series[i].type, STR(MEASURED)))
			sum = -1e15;
		for (size_t k = 0; k < answer.series[i].n; k++)
			if (!isnan(answer.series[i].points[k].value))
				sum += answer.series[i].points[k].value;
	}
	*ret_series = answer.n;
	arena_release(&answer.arena);
	return (int64_t)sum;
}

static void expect(struct fixture *f, int64_t from, int64_t until, int64_t total)
{
	struct selection s = cpu_from(from, until), untyped = s;
	size_t series;

	untyped.type = (struct str){0};
	CHECK_INT(merged(f, &s), total);
	CHECK_INT(merged(f, &untyped), total);
	CHECK_INT(charted(f, &s, false, &series), total);
	CHECK_INT(series, 1);
	CHECK_INT(charted(f, &untyped, true, &series), total);
	CHECK_INT(series, 1);
}

ENGINE_TEST(computed_time_is_found_under_the_type_it_stands_for)
{
	static const struct sent v[] = {{COMPUTED, "a", 0, 10, 40}, {COMPUTED, "a", 10, 10, 50}};
	struct selection all = cpu_from(-1000, 1000);
	struct text_answer types;

	SEND(f, v);
	expect(f, -100, 100, 90);
	all.type = (struct str){0};
	CHECK_OK(store_types(f->store, STR("acme"), &all, NULL, &types));
	CHECK_INT(types.n, 1);
	CHECK_STR(types.v[0], MEASURED);
	arena_release(&types.arena);
}

ENGINE_TEST(measured_time_takes_the_place_of_computed_time_in_any_order)
{
	static const struct sent v[] = {
		{COMPUTED, "a", 0, 10, 40},
		{MEASURED, "a", 0, 10, 41},
		{MEASURED, "a", 10, 10, 51},
		{COMPUTED, "a", 10, 10, 50},
	};
	struct selection all = cpu_from(-1000, 1000);
	const struct str names[] = {STR("__profile_type__"), STR("pod")};
	struct label_set_answer sets;
	struct text_answer types;

	SEND(f, v);
	expect(f, -100, 100, 92);
	all.type = (struct str){0};
	CHECK_OK(store_types(f->store, STR("acme"), &all, NULL, &types));
	CHECK_INT(types.n, 1);
	arena_release(&types.arena);
	CHECK_OK(store_label_sets(f->store, STR("acme"), &all, names, 2, NULL, &sets));
	CHECK_INT(sets.n, 1);
	CHECK_STR(sets.v[0].labels[0].value, MEASURED);
	arena_release(&sets.arena);
}

ENGINE_TEST(series_and_times_without_measured_time_keep_the_computed)
{
	static const struct sent v[] = {
		{COMPUTED, "a", 0, 10, 1},    {COMPUTED, "a", 10, 10, 2},
		{MEASURED, "a", 10, 10, 400}, {COMPUTED, "a", 20, 10, 8},
		{COMPUTED, "b", 10, 10, 16},  {MEASURED, "c", 0, 10, 3200},
	};

	SEND(f, v);
	expect(f, -100, 100, 1 + 400 + 8 + 16 + 3200);
}

ENGINE_TEST(windows_need_not_be_the_same)
{
	static const struct sent v[] = {
		/* Measured each minute, counted every ten seconds, and the reverse. */
		{COMPUTED, "a", 0, 10, 1},
		{COMPUTED, "a", 10, 10, 1},
		{COMPUTED, "a", 20, 10, 1},
		{MEASURED, "a", 0, 60, 1000},
		{MEASURED, "b", 0, 10, 2000},
		{MEASURED, "b", 11, 9, 2000},
		{COMPUTED, "b", 1, 20, 1},
		/* Moments that two requests of one sender have. */
		{COMPUTED, "c", 0, 0, 1},
		{MEASURED, "c", 0, 0, 4000},
		/* A window that begins where the other one ends. */
		{MEASURED, "d", 0, 10, 8000},
		{COMPUTED, "d", 9, 10, 16000},
	};

	SEND(f, v);
	expect(f, -100, 100, 1000 + 4000 + 4000 + 8000 + 16000);
}

#define MIDNIGHT (-6 * 3600)

ENGINE_TEST(at_midnight_time_counts_once)
{
	static const struct sent v[] = {
		/* Most of the window is measured on the day after. */
		{MEASURED, "a", MIDNIGHT - 10, 10, 1000},
		{COMPUTED, "a", MIDNIGHT - 10, 60, 1},
		{MEASURED, "a", MIDNIGHT, 10, 1000},
		{MEASURED, "a", MIDNIGHT + 10, 50, 1000},
		/* Most of it was measured by what began on the day before. */
		{MEASURED, "b", MIDNIGHT - 52, 60, 2000},
		{COMPUTED, "b", MIDNIGHT + 1, 10, 1},
		{MEASURED, "b", MIDNIGHT + 8, 60, 2000},
		/* Nothing of it was. */
		{COMPUTED, "c", MIDNIGHT - 10, 60, 16000},
		{MEASURED, "c", MIDNIGHT - 70, 60, 4000},
		{MEASURED, "c", MIDNIGHT + 300, 60, 4000},
		{COMPUTED, "c", MIDNIGHT + 50, 10, 32000},
	};

	SEND(f, v);
	expect(f, MIDNIGHT - 1000, MIDNIGHT + 1000, 3000 + 4000 + 8000 + 48000);
}

ENGINE_TEST(both_go_when_their_type_is_deleted)
{
	static const struct sent v[] = {{COMPUTED, "a", 0, 10, 40}, {MEASURED, "a", 10, 10, 50}};
	struct selection all = cpu_from(-1000, 1000);
	uint64_t removed;

	SEND(f, v);
	CHECK_OK(store_delete(f->store, STR("acme"), &all, NULL, &removed));
	CHECK_INT(removed, 2);
	CHECK_INT(merged(f, &all), 0);
}

static enum err ask_once(struct fixture *f)
{
	struct selection s = cpu_from(-100, 100);
	struct profile p;
	struct dict d;
	enum err e = dict_init(&d, store_seed(f->store));

	if (e)
		return e;
	profile_init(&p, &d);
	e = store_merge(f->store, STR("acme"), &s, NULL, 0, NULL, &p);
	profile_release(&p);
	dict_release(&d);
	return e;
}

TEST(a_question_survives_any_allocation_failing)
{
	static const struct sent v[] = {{COMPUTED, "a", 0, 10, 40}, {MEASURED, "a", 0, 10, 50}};
	CLEANUP(fixture_release) struct fixture fixture = {.kind = IN_MEMORY};
	struct fixture *f = &fixture;

	SEND(f, v);
	ALLOC_SWEEP(ask_once(f));
}
