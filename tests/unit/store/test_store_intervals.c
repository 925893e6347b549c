/*
 * What every engine must do: a value belongs to the interval of its profile. Random profiles of all
 * lengths, asked about in random ranges and steps.
 */
#include "engine_fixture.h"

#include "store/store_engine.h"

#define QUESTIONS 40

/* What is asked, and what must come of it. */
struct probe {
	struct selection s;
	struct matcher matcher;
	int64_t unit, step;
};

static struct probe next_probe(uint64_t *state)
{
	static const int64_t steps_s[] = {7, 60, 600, 3600, 7200, 86400};
	static const char *const services[] = {"api", "web"};
	struct probe p = {.s = everything(TYPE_SAMPLES), .unit = 1};
	int64_t length = (1 + model_next(state, 90000)) * NS_PER_S;

	if (model_next(state, 2)) {
		p.s.type = TYPE_CPU;
		p.unit = 10000000;
	}
	if (!model_next(state, 3))
		length /= 100;
	p.s.from_ns = MODEL_FROM + DAY / 2 + model_next(state, 24 * 3600) * NS_PER_S;
	/* Where roll-ups begin and end, now and then. */
	if (model_next(state, 2)) {
		p.s.from_ns -= p.s.from_ns % (3600 * NS_PER_S);
		length += 3600 * NS_PER_S - length % (3600 * NS_PER_S);
	} else {
		p.s.from_ns += model_next(state, 1000000000);
	}
	if (!model_next(state, 8))
		p.s.from_ns = MODEL_FROM + DAY;
	p.s.until_ns = p.s.from_ns + length;
	p.matcher = (struct matcher){STR("service_name"), MATCH_EQUAL,
				     str_of(services[model_next(state, 2)]), NULL};
	do
		p.step = steps_s[model_next(state, 6)] * NS_PER_S;
	while (length / p.step > 10000);
	return p;
}

static int64_t expected_total(const struct fixture *f, const struct probe *p, int64_t from,
			      int64_t until)
{
	int64_t sum = 0;

	from = from > p->s.from_ns ? from : p->s.from_ns;
	until = until < p->s.until_ns ? until : p->s.until_ns;
	for (size_t i = 0; i < f->model.n; i++) {
		const struct model_profile *m = &f->model.v[i];

		if (model_takes_profile(&p->s, "acme", m) &&
		    (!p->s.matcher_count || str_eq(p->matcher.value, str_of(m->service))))
			sum += model_total(m, p->unit, from, until);
	}
	return sum;
}

static int64_t merged(struct fixture *f, const struct selection *s, const char *function)
{
	struct ask ask = {0};
	struct profile p;
	struct dict d;
	int64_t sum = -1;

	if (dict_init(&d, store_seed(f->store)))
		return -1;
	profile_init(&p, &d);
	if (!store_merge(f->store, STR("acme"), s, NULL, 0, &ask, &p))
		sum = 0;
	for (size_t i = 0; i < p.row_count; i++) {
		uint32_t n;
		const uint32_t *frames = stack_frames(&d, p.stack[i], &n);
		bool has = !function;

		if (p.values[i] < 0)
			sum = INT64_MIN;
		for (uint32_t k = 0; k < n; k++)
			has |= str_eq(frame_name(&d, frames[k]), str_of(function));
		sum += has ? p.values[i] : 0;
	}
	profile_release(&p);
	dict_release(&d);
	return sum;
}

/* The sum over all points and groups; each point of the whole is what the model says. */
static bool series_adds_up(struct fixture *f, const struct probe *p, struct series_question *q,
			   int64_t total, bool points)
{
	struct series_answer answer;
	struct ask ask = {0};
	double sum = 0;
	bool agrees = true;

	if (store_series(f->store, STR("acme"), &p->s, q, &ask, &answer))
		return false;
	for (size_t i = 0; i < answer.n; i++) {
		for (size_t k = 0; k < answer.series[i].n; k++) {
			struct point point = answer.series[i].points[k];
			double value = isnan(point.value) ? 0 : point.value;

			sum += value;
			if (points && (int64_t)value != expected_total(f, p, point.time_ns,
								       point.time_ns + p->step)) {
				printf("# point %zu: %f, expected %lld\n", k, value,
				       (long long)expected_total(f, p, point.time_ns,
								 point.time_ns + p->step));
				agrees = false;
			}
		}
	}
	arena_release(&answer.arena);
	if ((int64_t)sum != total)
		printf("# series: %f, merged %lld\n", sum, (long long)total);
	return agrees && (int64_t)sum == total;
}

static bool heat_adds_up(struct fixture *f, const struct probe *p, int64_t total)
{
	int64_t column = (p->s.until_ns - p->s.from_ns) / 50 + 1;
	struct heatmap_answer heat;
	double sum = 0;

	if (store_heatmap(f->store, STR("acme"), &p->s, column, 100 * NS_PER_MS, NULL, &heat))
		return false;
	for (size_t i = 0; i < heat.columns * heat.rows; i++)
		sum += heat.cells[i];
	mem_free(heat.cells);
	if ((int64_t)sum != total)
		printf("# cells: %f, merged %lld\n", sum, (long long)total);
	return (int64_t)sum == total;
}

/* Lines within what rounding may do to the rows of profiles that are cut. */
static bool lines_nearly_agree(struct fixture *f, const struct probe *p)
{
	struct text_sums *sums = calloc(1, sizeof(*sums));
	int64_t first = merged(f, &p->s, "parse"), cut = 0;
	double expected = 0;

	free(sums);
	for (size_t i = 0; i < f->model.n; i++) {
		const struct model_profile *m = &f->model.v[i];

		if (!model_takes_profile(&p->s, "acme", m) ||
		    (p->s.matcher_count && !str_eq(p->matcher.value, str_of(m->service))))
			continue;
		cut += m->time < p->s.from_ns || m->time + m->duration > p->s.until_ns;
		for (unsigned r = 0; r < m->n; r++)
			if (strstr(model_stacks[m->rows[r].stack], "parse"))
				expected +=
					model_part(m, &m->rows[r], p->s.from_ns, p->s.until_ns) *
					(double)p->unit;
	}
	if (fabs(expected - (double)first) > 3.0 * (double)cut * MODEL_ROWS + 0.5) {
		printf("# function: %lld, expected %f, %lld are cut\n", (long long)first, expected,
		       (long long)cut);
		return false;
	}
	return true;
}

static bool probe_agrees(struct fixture *f, const struct probe *p)
{
	static const struct str group[] = {STR("pod"), STR("thread"), STR("service_name")};
	struct series_question q = {.step_ns = p->step};
	int64_t total = merged(f, &p->s, NULL), of_function = merged(f, &p->s, "serve");
	int64_t expected = expected_total(f, p, p->s.from_ns, p->s.until_ns);
	bool agrees = total == expected;

	if (!agrees)
		printf("# merged %lld, expected %lld\n", (long long)total, (long long)expected);
	agrees &= series_adds_up(f, p, &q, total, true);
	q.group_by = group;
	q.group_count = 2;
	agrees &= series_adds_up(f, p, &q, total, false);
	q.limit = 2;
	agrees &= series_adds_up(f, p, &q, total, false);
	q.group_by = group + 2;
	q.group_count = 1;
	agrees &= series_adds_up(f, p, &q, total, false);
	q.group_count = q.limit = 0;
	q.function = STR("serve");
	agrees &= series_adds_up(f, p, &q, of_function, false);
	agrees &= heat_adds_up(f, p, total);
	agrees &= lines_nearly_agree(f, p);
	if (!agrees)
		printf("# [%lld, %lld) step %lld\n", (long long)(p->s.from_ns - MODEL_FROM),
		       (long long)(p->s.until_ns - MODEL_FROM), (long long)p->step);
	return agrees;
}

#define SEND_VARIED(f, seed, profiles)                       \
	do {                                                 \
		uint64_t varied_ = (seed);                   \
		OPEN(f);                                     \
		model_fill(&(f)->model, &varied_, profiles); \
		model_vary(&(f)->model, &varied_);           \
		CHECK_OK(send_model(f));                     \
	} while (0)

ENGINE_TEST(random_ranges_and_steps_have_their_share)
{
	uint64_t state = 5;

	SEND_VARIED(f, 21, 400);
	for (unsigned i = 0; i < QUESTIONS; i++) {
		struct probe p = next_probe(&state);

		if (model_next(&state, 3) == 0) {
			p.s.matchers = &p.matcher;
			p.s.matcher_count = 1;
		}
		CHECK(probe_agrees(f, &p));
	}
}

/* One series, profiles end to end: roll-ups of hours and days stand for nearly all. */
static void fill_steady(struct model *m, int64_t length_s)
{
	size_t n = (size_t)(36 * 3600 / length_s);

	m->v = calloc(n, sizeof(*m->v));
	for (size_t i = 0; m->v && i < n; i++) {
		struct model_profile *p = &m->v[m->n++];

		*p = (struct model_profile){.tenant = "acme",
					    .service = "api",
					    .pod = "a",
					    .duration = length_s * NS_PER_S};
		p->time = MODEL_FROM + 7 * NS_PER_S + (int64_t)i * length_s * NS_PER_S;
		p->n = 2;
		p->rows[0] = (struct model_row){.stack = (unsigned)i % 7, .value = 3};
		p->rows[1] = (struct model_row){.stack = 2, .value = 2};
	}
}

ENGINE_TEST(steady_profiles_have_the_same_rate_everywhere)
{
	struct ask ask = {0};
	struct selection s = everything(TYPE_CPU);
	struct series_question q = {.step_ns = 3600 * NS_PER_S};
	struct series_answer answer;

	OPEN(f);
	fill_steady(&f->model, 50);
	CHECK_OK(send_model(f));
	s.from_ns = MODEL_FROM + 3600 * NS_PER_S;
	s.until_ns = MODEL_FROM + DAY + 6 * 3600 * NS_PER_S;
	CHECK_OK(store_series(f->store, STR("acme"), &s, &q, &ask, &answer));
	CHECK_INT(answer.n, 1);
	CHECK_INT(ask.covered_ns, s.until_ns - s.from_ns);
	if (f->kind == IN_FILES_SETTLED)
		CHECK(ask.rollups > 20);
	for (size_t i = 0; i < answer.series[0].n; i++) {
		/* Five samples of ten milliseconds in fifty seconds. */
		CHECK(answer.series[0].points[i].value == 3.6e9);
		CHECK_INT(answer.series[0].covered[i], 3600 * NS_PER_S);
	}
	arena_release(&answer.arena);
	s.until_ns = s.from_ns + DAY;
	CHECK_INT(merged(f, &s, NULL), 24 * INT64_C(3600000000));
}

/* ------------------------------------------------------------------ gauges */

/* Whether ranges that end soon after an hour, or a day, cut what began in it. */
static bool ends_agree(struct fixture *f, int64_t hour)
{
	struct probe p = {.s = everything(TYPE_SAMPLES), .unit = 1, .step = 3600 * NS_PER_S};

	p.s.from_ns = MODEL_FROM;
	for (int64_t after = 1; after < 3700; after += after < 60 ? 7 : 313) {
		p.s.until_ns = MODEL_FROM + (hour * 3600 + after) * NS_PER_S;
		if (!probe_agrees(f, &p))
			return false;
	}
	return true;
}

/* Roll-ups of hours and days have their profiles as a whole. */
ENGINE_TEST(a_range_that_ends_soon_after_an_hour_cuts_what_began_in_it)
{
	OPEN(f);
	fill_steady(&f->model, 50);
	CHECK_OK(send_model(f));
	CHECK(ends_agree(f, 5));
	CHECK(ends_agree(f, 24));
}

ENGINE_TEST(a_range_that_ends_soon_after_an_hour_cuts_long_profiles)
{
	OPEN(f);
	fill_steady(&f->model, 1700);
	CHECK_OK(send_model(f));
	CHECK(ends_agree(f, 5));
	CHECK(ends_agree(f, 24));
}

static enum err gauge_at(struct fixture *f, int64_t time, int64_t value)
{
	struct model_profile p = {.tenant = "acme",
				  .service = "api",
				  .pod = "a",
				  .heap = true,
				  .time = time,
				  .n = 1,
				  .rows = {{.value = value}}};

	return send_some(f->store, &p, 1, false);
}

static double first_value(struct fixture *f, int64_t from, int64_t until)
{
	struct selection s = everything(TYPE_HEAP);
	struct series_question q = {.step_ns = until - from};
	struct series_answer answer;
	double value = NAN;

	s.from_ns = from;
	s.until_ns = until;
	if (store_series(f->store, STR("acme"), &s, &q, NULL, &answer))
		return -1;
	for (size_t i = 0; answer.n && i < answer.series[0].n; i++)
		value = isnan(answer.series[0].points[i].value) ? value
								: answer.series[0].points[i].value;
	arena_release(&answer.arena);
	return value;
}

ENGINE_TEST(gauges_carry_the_last_value_for_four_intervals)
{
	/* Before midnight: what is carried comes from another day. */
	int64_t midnight = MODEL_FROM + DAY, last = midnight - 5 * NS_PER_S;
	struct selection s = everything(TYPE_HEAP);

	OPEN(f);
	for (int64_t i = 0; i < 10; i++)
		CHECK_OK(gauge_at(f, last - (9 - i) * 60 * NS_PER_S, 100 + i));
	if (f->kind == IN_FILES_SETTLED)
		CHECK_OK(store_settle(f->store, true, NULL));
	s.from_ns = midnight;
	s.until_ns = midnight + 30 * NS_PER_S;
	CHECK_INT(merged(f, &s, NULL), 109);
	CHECK(first_value(f, s.from_ns, s.until_ns) == 109);
	/* Between two points. */
	s.from_ns = last - 50 * NS_PER_S;
	s.until_ns = last - 20 * NS_PER_S;
	CHECK_INT(merged(f, &s, NULL), 108);
	CHECK(first_value(f, s.from_ns, s.until_ns) == 108);
	/* Longer ago than four intervals: no data, and not 0. */
	s.from_ns = last + 240 * NS_PER_S;
	s.until_ns = s.from_ns + 60 * NS_PER_S;
	CHECK_INT(merged(f, &s, NULL), 0);
	CHECK(isnan(first_value(f, s.from_ns, s.until_ns)));
	/* And a moment before. */
	s.from_ns -= 1;
	CHECK_INT(merged(f, &s, NULL), 109);
}

/* ------------------------------------------------------------------ while compaction goes on */

#define MINUTES (3 * 60)

/* Presence ends one usual gap after the last profile before a pause. */
static bool was_profiled(int64_t minute)
{
	return minute < 94 || minute >= 126;
}

/* A profile of half a minute, and a gauge, in every other minute of three hours. */
static enum err send_minutes(struct fixture *f, int64_t first)
{
	for (int64_t i = first; i < MINUTES; i += 2) {
		int64_t time = MODEL_FROM + i * 60 * NS_PER_S;
		struct model_profile p = {.tenant = "acme",
					  .service = "api",
					  .pod = "a",
					  .time = time,
					  .duration = 30 * NS_PER_S,
					  .n = 1,
					  .rows = {{.value = 3}}};

		if (!was_profiled(i))
			continue;
		TRY(gauge_at(f, time, i % 2 ? 300 : 100));
		TRY(send_some(f->store, &p, 1, false));
	}
	return ERR_OK;
}

static int64_t covered(struct fixture *f, struct str type, int64_t from, int64_t until)
{
	struct selection s = {.type = type, .from_ns = from, .until_ns = until};
	struct series_question q = {.step_ns = until - from};
	struct series_answer answer;
	struct ask ask = {0};

	if (store_series(f->store, STR("acme"), &s, &q, &ask, &answer))
		return -1;
	arena_release(&answer.arena);
	return ask.covered_ns;
}

/* In ranges of an even number of minutes the gauge has the mean of both values. */
static bool minutes_are_right(struct fixture *f, int64_t begin, int64_t minutes)
{
	int64_t from = MODEL_FROM + begin * 60 * NS_PER_S, until = from + minutes * 60 * NS_PER_S;
	struct selection s = everything(TYPE_HEAP);
	int64_t level, sum, time[2], profiled = 0;

	for (int64_t i = begin; i < begin + minutes; i++)
		profiled += was_profiled(i);
	s.from_ns = from;
	s.until_ns = until;
	level = merged(f, &s, NULL);
	s.type = TYPE_SAMPLES;
	sum = merged(f, &s, NULL);
	time[0] = covered(f, TYPE_HEAP, from, until);
	time[1] = covered(f, TYPE_SAMPLES, from, until);
	if (level == (profiled ? 200 : 0) && sum == 3 * profiled &&
	    time[0] == profiled * 60 * NS_PER_S && time[1] == profiled * 30 * NS_PER_S)
		return true;
	printf("# %lld minutes from %lld on: level %lld, sum %lld, covered %lld and %lld\n",
	       (long long)minutes, (long long)begin, (long long)level, (long long)sum,
	       (long long)time[0], (long long)time[1]);
	return false;
}

static bool all_minutes_are_right(struct fixture *f)
{
	bool good = true;

	for (int64_t begin = 0; begin < MINUTES; begin += 20)
		for (int64_t minutes = 10; begin + minutes <= MINUTES; minutes += 50)
			good &= minutes_are_right(f, begin, minutes);
	return good;
}

/* Compacted data (or roll-ups) and later data each lack every other minute. */
ENGINE_TEST(answers_do_not_depend_on_how_far_compaction_has_come)
{
	OPEN(f);
	CHECK_OK(send_minutes(f, 0));
	if (f->kind != IN_MEMORY)
		CHECK_OK(store_settle(f->store, true, NULL));
	CHECK_OK(send_minutes(f, 1));
	CHECK(all_minutes_are_right(f));
	if (f->kind != IN_MEMORY)
		CHECK_OK(store_settle(f->store, true, NULL));
	CHECK(all_minutes_are_right(f));
}

/* Called when a query visits its partitions for the second time. */
static struct {
	struct fixture *f;
	enum err (*real)(void *, struct str, const struct selection *, int64_t, struct ask *,
			 enum err (*)(void *, struct partition *), void *);
	enum err (*happen)(struct fixture *);
	int calls, at;
} between;

static enum err partitions_between(void *engine, struct str tenant,
				   const struct selection *selection, int64_t since_ns,
				   struct ask *ask, enum err (*each)(void *, struct partition *),
				   void *context)
{
	if (++between.calls == between.at)
		TRY(between.happen(between.f));
	return between.real(engine, tenant, selection, since_ns, ask, each, context);
}

static enum err settle(struct fixture *f)
{
	return f->kind == IN_MEMORY ? ERR_OK : store_settle(f->store, true, NULL);
}

/* Adds data of the same service: until it is compacted, its hour is read from blocks. */
static enum err come_late(struct fixture *f)
{
	for (int64_t hour = 0; hour < 60; hour++) {
		struct model_profile p = {.tenant = "acme",
					  .service = "api",
					  .pod = "a",
					  .time = MODEL_FROM - DAY + (hour * 3600 + 7) * NS_PER_S,
					  .n = 1,
					  .rows = {{.value = 3}}};

		TRY(send_some(f->store, &p, 1, false));
	}
	return ERR_OK;
}

/* A gauge over 60 hours; it alternates between two functions. */
static enum err send_hours(struct fixture *f)
{
	for (int64_t i = 0; i < 60 * 6; i++) {
		bool odd = i / 6 % 2;
		struct model_profile p = {
			.tenant = "acme",
			.service = "api",
			.pod = "a",
			.heap = true,
			.time = MODEL_FROM - DAY + (i * 600 + 300) * NS_PER_S,
			.n = 1,
			.rows = {{.stack = odd ? 2 : 0, .value = odd ? 3000 : 1000}}};

		TRY(send_some(f->store, &p, 1, false));
	}
	return ERR_OK;
}

/* Checks the rows of a range answered from roll-ups, while something changes between the passes. */
static bool hours_are_right(struct fixture *f, enum err (*happen)(struct fixture *), int at)
{
	struct selection s = everything(TYPE_HEAP);
	int64_t even, odd;

	s.from_ns = MODEL_FROM - DAY + 2 * 3600 * NS_PER_S;
	s.until_ns = s.from_ns + 52 * 3600 * NS_PER_S;
	between.f = f;
	between.real = f->store->source.partitions;
	between.happen = happen;
	between.at = at;
	between.calls = 0;
	f->store->source.partitions = partitions_between;
	even = merged(f, &s, "parse");
	between.at = 0;
	odd = merged(f, &s, "gc");
	f->store->source.partitions = between.real;
	if (even >= 500 - 5 && even <= 500 + 5 && odd >= 1500 - 15 && odd <= 1500 + 15)
		return true;
	printf("# after pass %d: %lld and %lld\n", at - 1, (long long)even, (long long)odd);
	return false;
}

ENGINE_TEST(rows_of_a_level_stay_when_roll_ups_come_and_go_between_passes)
{
	OPEN(f);
	CHECK_OK(send_hours(f));
	for (int at = 2; at <= 3; at++) {
		CHECK(hours_are_right(f, settle, at));
		CHECK(hours_are_right(f, come_late, at));
	}
}

/* ------------------------------------------------------------------ long ones */

ENGINE_TEST(an_upload_of_hours_is_found_from_its_middle)
{
	struct model_profile long_one = {.tenant = "acme",
					 .service = "api",
					 .pod = "a",
					 .time = MODEL_FROM + DAY - 7200 * NS_PER_S,
					 .duration = 6 * 3600 * NS_PER_S,
					 .n = 1,
					 .rows = {{.value = 6}}};
	struct selection s = everything(TYPE_SAMPLES);
	struct series_answer answer;
	struct ask ask = {0};

	OPEN(f);
	fill_steady(&f->model, 300);
	CHECK_OK(send_model(f));
	CHECK_OK(send_some(f->store, &long_one, 1, false));
	if (f->kind == IN_FILES_SETTLED)
		CHECK_OK(store_settle(f->store, true, NULL));
	/* The next day, and three hours after it began. */
	s.from_ns = MODEL_FROM + DAY + 3600 * NS_PER_S;
	s.until_ns = s.from_ns + 3600 * NS_PER_S;
	CHECK_INT(merged(f, &s, NULL), 60 + 1);
	/* Where it is not, nobody looks for it. */
	s.from_ns = MODEL_FROM + 5 * 3600 * NS_PER_S + 1;
	s.until_ns = s.from_ns + 60 * NS_PER_S;
	CHECK_OK(store_series(f->store, STR("acme"), &s,
			      &(struct series_question){.step_ns = 60 * NS_PER_S}, &ask, &answer));
	arena_release(&answer.arena);
	CHECK(ask.chunks + ask.blocks < 30);
}

/* How many types and pods are listed in [from, until). */
static size_t listed(struct fixture *f, int64_t from, int64_t until)
{
	struct selection s = everything((struct str){0});
	struct text_answer types, pods;
	size_t n;

	s.from_ns = from;
	s.until_ns = until;
	if (store_types(f->store, STR("acme"), &s, NULL, &types))
		return SIZE_MAX;
	n = types.n;
	arena_release(&types.arena);
	if (store_label_values(f->store, STR("acme"), STR("pod"), &s, 0, NULL, &pods))
		return SIZE_MAX;
	n += 100 * pods.n;
	arena_release(&pods.arena);
	return n;
}

ENGINE_TEST(what_has_values_in_a_range_is_listed_there)
{
	struct model_profile one = {.tenant = "acme",
				    .service = "api",
				    .pod = "a",
				    .time = MODEL_FROM + DAY - 7200 * NS_PER_S,
				    .duration = 6 * 3600 * NS_PER_S,
				    .n = 1,
				    .rows = {{.value = 6}}};
	int64_t end = one.time + one.duration;
	size_t all;

	OPEN(f);
	CHECK_OK(send_some(f->store, &one, 1, false));
	if (f->kind == IN_FILES_SETTLED)
		CHECK_OK(store_settle(f->store, true, NULL));
	all = listed(f, one.time, end);
	CHECK(all > 100 && all < 200);
	CHECK_INT(listed(f, one.time + NS_PER_S, one.time + 2 * NS_PER_S), all);
	CHECK_INT(listed(f, end - 3600 * NS_PER_S, end), all);
	/* Of what is opened anew for each question only the day is known. */
	if (f->kind == IN_FILES_CRAMPED)
		return;
	CHECK_INT(listed(f, end, end + NS_PER_S), 0);
	CHECK_INT(listed(f, one.time - NS_PER_S, one.time), 0);
}

ENGINE_TEST(a_new_profile_after_reopening_hides_nothing_old)
{
	struct model_profile one = {.tenant = "acme",
				    .service = "api",
				    .pod = "a",
				    .time = MODEL_FROM + DAY,
				    .duration = 10 * NS_PER_S,
				    .n = 1,
				    .rows = {{.value = 6}}};
	int64_t old = one.time;
	struct store_options o = fixture_options();
	size_t all;

	OPEN(f);
	CHECK_OK(send_some(f->store, &one, 1, false));
	all = listed(f, old, old + NS_PER_S);
	CHECK(all > 100 && all < 200);
	if (f->kind != IN_MEMORY) {
		store_close(f->store);
		f->store = NULL;
		CHECK_OK(fixture_open(f, &o));
	}
	one.time += 3600 * NS_PER_S;
	CHECK_OK(send_some(f->store, &one, 1, false));
	CHECK_INT(listed(f, old, old + NS_PER_S), all);
}

/* ------------------------------------------------------------------ heat maps */

/* The largest difference between cells and what an even value has in each, and their sum. */
static double heat_error(struct fixture *f, int64_t from, int64_t until, int64_t column,
			 int64_t row, const struct model_profile *one, double value,
			 double *ret_sum)
{
	struct selection s = everything(TYPE_SAMPLES);
	double per_ns = value / (double)one->duration, worst = 0, sum = 0;
	struct heatmap_answer heat;

	s.from_ns = from;
	s.until_ns = until;
	if (store_heatmap(f->store, STR("acme"), &s, column, row, NULL, &heat))
		return INFINITY;
	for (size_t c = 0; c < heat.columns; c++) {
		int64_t begin = from + (int64_t)c * column, end = begin + column;
		double covered = 0, expected = 0;

		begin = begin > one->time ? begin : one->time;
		end = end < one->time + one->duration ? end : one->time + one->duration;
		end = end < until ? end : until;
		for (size_t r = 0; r < heat.rows; r++)
			covered += heat.cells[c * heat.rows + r];
		expected = end > begin ? per_ns * (double)(end - begin) : 0;
		worst = fmax(worst, fabs(covered - expected));
		sum += covered;
	}
	mem_free(heat.cells);
	*ret_sum = sum;
	return worst;
}

ENGINE_TEST(a_heat_map_of_microseconds_looks_at_each_cell_once)
{
	struct model_profile one = {.tenant = "acme",
				    .service = "api",
				    .pod = "a",
				    .time = MODEL_FROM + DAY / 2 + 123456789,
				    .duration = 6 * 3600 * NS_PER_S + 987654321,
				    .n = 1,
				    .rows = {{.value = 1000000}}};
	double sum;

	OPEN(f);
	CHECK_OK(send_some(f->store, &one, 1, false));
	/* One by one these would be 2e10 and more. */
	CHECK(heat_error(f, one.time - NS_PER_S, one.time + 7 * 3600 * NS_PER_S,
			 8 * 3600 * NS_PER_S, 1000, &one, 1e6, &sum) < 1);
	CHECK(sum == 1e6);
	CHECK(heat_error(f, one.time - 77, one.time + 7 * 3600 * NS_PER_S, 700 * NS_PER_S + 1,
			 30000, &one, 1e6, &sum) < 2);
	CHECK(sum == 1e6);
	/* Cut on both sides: its share. */
	CHECK(heat_error(f, one.time + 3600 * NS_PER_S, one.time + 2 * 3600 * NS_PER_S,
			 600 * NS_PER_S, 3333, &one, 1e6, &sum) < 2);
	CHECK(sum == floor(sum));
}
