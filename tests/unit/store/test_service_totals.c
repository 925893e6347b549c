/*
 * Totals of services are cached beside the index of their day. A query that uses the cache must give
 * the same answer as one that reads everything, whatever was added, deleted or compacted in between.
 */
#include "engine_fixture.h"

#define MEASURED "process_cpu:cpu:nanoseconds:cpu:nanoseconds"
#define COMPUTED MEASURED TYPE_DERIVED
#define SAMPLES	 "process_cpu:samples:count:cpu:nanoseconds"
#define HEAP	 "memory:inuse_space:bytes:space:bytes"
#define SECOND	 NS_PER_S
#define HOUR	 (3600 * SECOND)
#define SERVICES 12

static int64_t now = MODEL_NOW;

static int64_t test_now(void)
{
	return now;
}

/* ------------------------------------------------------------------ random data */

struct sample_profile {
	unsigned service, pod, types;
	int64_t time, duration, value;
};

static const char *const type_lists[][2] = {
	{MEASURED, NULL}, {SAMPLES, MEASURED}, {HEAP, NULL}, {COMPUTED, NULL}};

static enum err fill(struct profile *p, struct dict *d, const struct sample_profile *r)
{
	int64_t values[2] = {r->value, r->value * 7};
	struct row row = {0};

	TRY(profile_add_type(p, STR("a"), STR("nanoseconds")));
	if (type_lists[r->types][1])
		TRY(profile_add_type(p, STR("b"), STR("nanoseconds")));
	TRY(model_stack(d, "main;work", &row.stack));
	return profile_add(p, &row, values);
}

static enum err add(struct store *s, struct store_batch *b, const struct sample_profile *r)
{
	char service[20], pod[20];
	struct str types[2] = {0};
	struct label_pair labels[] = {{STR("pod"), {0}}, {STR("service_name"), {0}}};
	struct series_profile series = {.labels = labels,
					.label_count = 2,
					.types = types,
					.time_ns = r->time,
					.duration_ns = r->duration};
	struct profile p;
	struct dict d;
	enum err e;

	snprintf(service, sizeof(service), "service-%u", r->service);
	snprintf(pod, sizeof(pod), "pod-%u", r->pod);
	labels[0].value = str_of(pod);
	labels[1].value = str_of(service);
	for (int t = 0; t < 2 && type_lists[r->types][t]; t++)
		types[t] = str_of(type_lists[r->types][t]);
	TRY(dict_init(&d, store_seed(s)));
	profile_init(&p, &d);
	e = fill(&p, &d, r);
	series.profile = &p;
	if (!e)
		e = store_batch_add(b, &series, NULL);
	profile_release(&p);
	dict_release(&d);
	return e;
}

static enum err send(struct store *s, const struct sample_profile *v, size_t n)
{
	struct store_batch *b;
	enum err e = ERR_OK;

	TRY(store_batch_new(s, STR("acme"), &b, NULL));
	for (size_t i = 0; !e && i < n; i++)
		e = add(s, b, &v[i]);
	if (e)
		store_batch_abandon(b);
	return e ? e : commit(b);
}

/* Some minutes of a service: of some only sums, of some gauges as well, of some both kinds of CPU
 * time. */
static enum err send_burst(struct store *s, unsigned service, int64_t from, uint64_t *state)
{
	struct sample_profile v[6];
	size_t n = 1 + model_next(state, 6);
	int64_t time = from;

	for (size_t i = 0; i < n; i++) {
		v[i] = (struct sample_profile){
			.service = service,
			.pod = model_next(state, 3),
			.types = model_next(state, 1 + service % 4),
			.time = time,
			.duration = model_next(state, 4) ? 15 * SECOND
							 : model_next(state, 300) * SECOND,
			.value = 1 + model_next(state, 1000000),
		};
		time += (15 + model_next(state, 3) * model_next(state, 60)) * SECOND;
	}
	return send(s, v, n);
}

/* ------------------------------------------------------------------ answers as text */

struct found {
	struct buf text;
	VEC(struct str) lines;
	struct arena arena;
	unsigned services, without_points;
	uint64_t rollups; /* read */
	char read[120];	  /* depends on how far compaction has come */
};

static void found_release(struct found *f)
{
	buf_release(&f->text);
	vec_release(&f->lines);
	arena_release(&f->arena);
}

static enum err put_line(struct found *f, const char *line)
{
	struct str copy = str_of(arena_copy(&f->arena, str_of(line)));

	return copy.p ? vec_push(&f->lines, copy) : ERR_NO_MEMORY;
}

static enum err put_service(void *context, struct str service, const struct series_answer *answers)
{
	struct found *f = context;
	bool without = false;
	char line[300];

	for (int r = 0; r < SERVICES_RANGES; r++)
		for (size_t i = 0; i < answers[r].n; i++) {
			const struct series_points *s = &answers[r].series[i];

			without |= !s->points;
			snprintf(line, sizeof(line), "%.*s range %d %.*s %d %lld", (int)service.n,
				 service.p, r, (int)s->type.n, s->type.p, s->whole,
				 (long long)s->total);
			TRY(put_line(f, line));
		}
	f->services++;
	f->without_points += without;
	return ERR_OK;
}

static int by_text(const void *left, const void *right)
{
	return str_cmp(*(const struct str *)left, *(const struct str *)right);
}

static enum err ask_services(struct store *s, const struct services_question *what, struct found *f)
{
	struct selection all = everything(STR(""));
	struct services_answer whole;
	struct fault fault = {0};
	struct ask ask = {.fault = &fault};
	char line[300];
	enum err e;

	*f = (struct found){.text = BUF_INIT(1 << 20)};
	e = store_services(s, STR("acme"), &all, what, &ask, put_service, f, &whole);
	if (e) {
		printf("# store_services: %s %s\n", err_text(e), fault.text);
		return e;
	}
	for (size_t i = 0; i < whole.n; i++) {
		snprintf(line, sizeof(line), "all %.*s %lld", (int)whole.types[i].type.n,
			 whole.types[i].type.p, (long long)whole.types[i].covered_ns);
		e = e ? e : put_line(f, line);
	}
	arena_release(&whole.arena);
	TRY(e);
	f->rollups = ask.rollups;
	snprintf(f->read, sizeof(f->read),
		 "%llu rows, %llu chunks, %llu blocks, %llu roll-ups, %llu bytes",
		 (unsigned long long)ask.rows, (unsigned long long)ask.chunks,
		 (unsigned long long)ask.blocks, (unsigned long long)ask.rollups,
		 (unsigned long long)ask.bytes);
	if (f->lines.n)
		qsort(f->lines.v, f->lines.n, sizeof(*f->lines.v), by_text);
	vec_for_each (l, &f->lines)
		buf_printf(&f->text, "%.*s\n", (int)l->n, l->p);
	return buf_error(&f->text);
}

static bool reads_the_same(struct store *s, const struct services_question *what)
{
	CLEANUP(found_release) struct found got = {0}, expected = {0};
	struct services_question totals = *what;

	totals.totals_only = true;
	if (ask_services(s, &totals, &got) || ask_services(s, what, &expected))
		return false;
	if (strcmp(got.read, expected.read) == 0)
		return true;
	printf("# %s, expected %s\n", got.read, expected.read);
	return false;
}

/* Totals as they are cached beside the same without; how many services had points in the first is
 * how many were looked at. */
static bool agrees(struct store *s, const struct services_question *what, unsigned *ret_looked_at)
{
	CLEANUP(found_release) struct found got = {0}, expected = {0};
	struct services_question totals = *what;

	totals.totals_only = true;
	if (ask_services(s, &totals, &got) || ask_services(s, what, &expected))
		return false;
	*ret_looked_at = got.services - got.without_points;
	if (str_eq(buf_view(&got.text), buf_view(&expected.text)) && !expected.without_points)
		return true;
	printf("# expected:\n%.*s# got:\n%.*s", (int)expected.text.n, expected.text.data,
	       (int)got.text.n, got.text.data);
	return false;
}

static struct services_question overview(int64_t until_ns, int64_t length_ns)
{
	return (struct services_question){
		.ranges = {{until_ns - length_ns, until_ns},
			   {until_ns - 2 * length_ns, until_ns - length_ns}},
		.range_count = 2,
		.step_ns = length_ns / 60,
	};
}

/* ------------------------------------------------------------------ tests */

static enum err open_store(struct fixture *f, enum engine_kind kind)
{
	struct store_options o = fixture_options();

	now = MODEL_NOW;
	o.now_ns = test_now;
	o.limits.max_series = 5000;
	f->kind = kind;
	return fixture_open(f, &o);
}

static enum err send_all(struct store *s, int64_t from, uint64_t *state)
{
	for (unsigned i = 0; i < SERVICES; i++)
		TRY(send_burst(s, i, from + (int64_t)model_next(state, 600) * SECOND, state));
	return ERR_OK;
}

TEST(only_services_that_have_changed_are_looked_at)
{
	CLEANUP(fixture_release) struct fixture f = {0};
	struct services_question what = overview(MODEL_NOW, HOUR);
	uint64_t state = 1;
	unsigned looked_at;

	CHECK_OK(open_store(&f, IN_FILES));
	CHECK_OK(send_all(f.store, MODEL_NOW - HOUR / 2, &state));
	CHECK(agrees(f.store, &what, &looked_at));
	CHECK_INT(looked_at, SERVICES);
	CHECK(agrees(f.store, &what, &looked_at));
	CHECK_INT(looked_at, 0);
	CHECK_OK(send_burst(f.store, 3, MODEL_NOW - HOUR / 4, &state));
	CHECK(agrees(f.store, &what, &looked_at));
	CHECK_INT(looked_at, 1);
	/* Minutes later everything lies in the range as it did before. */
	what = overview(MODEL_NOW + 100 * SECOND, HOUR);
	CHECK(agrees(f.store, &what, &looked_at));
	CHECK_INT(looked_at, 0);
	/* Blocks in place of chunks. */
	CHECK_OK(store_settle(f.store, true, NULL));
	CHECK(agrees(f.store, &what, &looked_at));
	CHECK_INT(looked_at, SERVICES);
	CHECK(agrees(f.store, &what, &looked_at));
	CHECK_INT(looked_at, 0);
	what = overview(MODEL_NOW + 200 * SECOND, HOUR);
	CHECK(reads_the_same(f.store, &what));
	/* Now the range cuts some of it. */
	what = overview(MODEL_NOW + HOUR / 2 + 400 * SECOND, HOUR);
	CHECK(agrees(f.store, &what, &looked_at));
	CHECK(looked_at > 0);
}

TEST(points_are_found_of_those_that_are_asked_for)
{
	static const struct str names[] = {STR("service-2"), STR("service-7"), STR("nobody")};
	CLEANUP(fixture_release) struct fixture f = {0};
	CLEANUP(found_release) struct found found = {0};
	struct services_question what = overview(MODEL_NOW, HOUR);
	uint64_t state = 2;

	CHECK_OK(open_store(&f, IN_FILES));
	CHECK_OK(send_all(f.store, MODEL_NOW - HOUR / 2, &state));
	what.only = names;
	what.only_count = 3;
	CHECK_OK(ask_services(f.store, &what, &found));
	CHECK_INT(found.services, 2);
	CHECK_INT(found.without_points, 0);
	store_close(f.store);
	f.store = NULL;
	found_release(&found);
	CHECK_OK(open_store(&f, IN_MEMORY));
	CHECK_OK(send_all(f.store, MODEL_NOW - HOUR / 2, &state));
	CHECK_OK(ask_services(f.store, &what, &found));
	CHECK_INT(found.services, 2);
}

static enum err delete_some(struct store *s, uint64_t *state)
{
	struct matcher pod = {STR("pod"), MATCH_EQUAL, STR("pod-1"), NULL};
	struct matcher service = {STR("service_name"), MATCH_EQUAL, STR("service-5"), NULL};
	struct selection what = everything(STR(""));
	uint64_t profiles;

	what.matchers = model_next(state, 2) ? &pod : &service;
	what.matcher_count = 1;
	return store_delete(s, STR("acme"), &what, NULL, &profiles);
}

static enum err reopen(struct fixture *f)
{
	struct store_options o = fixture_options();

	o.now_ns = test_now;
	o.limits.max_series = 5000;
	store_close(f->store);
	f->store = NULL;
	return fixture_open(f, &o);
}

/* Something happens to the store; most of the time it is an upload. */
static enum err happen(struct fixture *f, int64_t around, uint64_t *state)
{
	switch (model_next(state, 12)) {
	case 0:
		return store_settle(f->store, true, NULL);
	case 1:
		return store_settle(f->store, false, NULL);
	case 2:
		return delete_some(f->store, state);
	case 3:
		return reopen(f);
	default:
		return send_burst(f->store, model_next(state, SERVICES),
				  around - (int64_t)model_next(state, 3 * 3600) * SECOND, state);
	}
}

/* Ranges that move on by little or much, and some that are asked again and again. */
static struct services_question next_question(int64_t around, unsigned i, uint64_t *state)
{
	static const int64_t lengths[] = {HOUR, HOUR / 4, 3 * HOUR, 24 * HOUR};
	int64_t length = lengths[model_next(state, 4)], until = around;
	struct services_question what;

	if (i % 3 == 1)
		until += i * SECOND;
	else if (i % 3 == 2)
		until += (int64_t)model_next(state, 2 * 3600) * SECOND - HOUR +
			 model_next(state, 1000000);
	if (!model_next(state, 5))
		until -= until % HOUR;
	what = overview(until, length);
	/* With such points roll-ups may be used. */
	if (!model_next(state, 5))
		what.step_ns = HOUR;
	return what;
}

/* `least`: so many questions at least look at no service. */
static void check_life(int64_t around, uint64_t seed, unsigned long least)
{
	CLEANUP(fixture_release) struct fixture f = {0};
	unsigned long known = 0;
	uint64_t state = seed;

	CHECK_OK(open_store(&f, IN_FILES));
	CHECK_OK(send_all(f.store, around - HOUR / 2, &state));
	for (unsigned i = 0; i < 60; i++) {
		struct services_question what = next_question(around, i, &state);
		unsigned looked_at;

		CHECK(agrees(f.store, &what, &looked_at));
		CHECK(agrees(f.store, &what, &looked_at));
		known += !looked_at;
		if (!model_next(&state, 2))
			CHECK_OK(happen(&f, around, &state));
	}
	CHECK(known >= least);
}

TEST(totals_are_what_there_is_whatever_happens)
{
	for (uint64_t seed = 1; seed <= 6; seed++)
		check_life(MODEL_NOW, seed, 10);
}

TEST(totals_are_what_there_is_around_midnight)
{
	for (uint64_t seed = 11; seed <= 14; seed++)
		check_life(MODEL_FROM + DAY + HOUR / 3, seed, 10);
}

/* Services that have sums only: nothing of them is read before the range. */
static enum err send_sums(struct store *s, int64_t from, uint64_t *state)
{
	for (unsigned i = 0; i < SERVICES; i++)
		if (i % 4 < 2)
			TRY(send_burst(s, i, from, state));
	return ERR_OK;
}

TEST(totals_of_two_days_are_cached)
{
	CLEANUP(fixture_release) struct fixture f = {0};
	int64_t midnight = MODEL_FROM + DAY;
	struct services_question what = overview(midnight + HOUR, 3 * HOUR);
	uint64_t state = 21;
	unsigned looked_at;

	CHECK_OK(open_store(&f, IN_FILES));
	CHECK_OK(send_sums(f.store, midnight - HOUR / 3, &state));
	CHECK_OK(send_sums(f.store, midnight + 20 * SECOND, &state));
	CHECK(agrees(f.store, &what, &looked_at));
	CHECK_INT(looked_at, SERVICES / 2);
	CHECK(agrees(f.store, &what, &looked_at));
	CHECK_INT(looked_at, 0);
	what = overview(midnight + HOUR + 60 * SECOND, 3 * HOUR);
	CHECK(agrees(f.store, &what, &looked_at));
	CHECK_INT(looked_at, 0);
	/* Either day may change. */
	CHECK_OK(send_burst(f.store, 1, midnight - HOUR / 4, &state));
	CHECK(agrees(f.store, &what, &looked_at));
	CHECK_INT(looked_at, 1);
	CHECK_OK(send_burst(f.store, 1, midnight + 300 * SECOND, &state));
	CHECK(agrees(f.store, &what, &looked_at));
	CHECK_INT(looked_at, 1);
	/* Of the second day alone. */
	what = overview(midnight + 3 * HOUR, 3 * HOUR - SECOND);
	CHECK(agrees(f.store, &what, &looked_at));
	CHECK(agrees(f.store, &what, &looked_at));
}

TEST(totals_last_when_everything_is_in_the_range_before)
{
	CLEANUP(fixture_release) struct fixture f = {0};
	struct services_question what = overview(MODEL_NOW, HOUR);
	uint64_t state = 22;
	unsigned looked_at;

	CHECK_OK(open_store(&f, IN_FILES));
	CHECK_OK(send_sums(f.store, MODEL_NOW - 2 * HOUR + 400 * SECOND, &state));
	CHECK(agrees(f.store, &what, &looked_at));
	CHECK_INT(looked_at, SERVICES / 2);
	what = overview(MODEL_NOW + 100 * SECOND, HOUR);
	CHECK(agrees(f.store, &what, &looked_at));
	CHECK_INT(looked_at, 0);
	/* From there into the range itself. */
	what = overview(MODEL_NOW - HOUR + 200 * SECOND, HOUR);
	CHECK(agrees(f.store, &what, &looked_at));
	CHECK(agrees(f.store, &what, &looked_at));
	CHECK_INT(looked_at, 0);
}

TEST(totals_are_valid_for_points_of_any_width)
{
	CLEANUP(fixture_release) struct fixture f = {0};
	struct services_question what = overview(MODEL_NOW, HOUR);
	uint64_t state = 23;
	unsigned looked_at;

	CHECK_OK(open_store(&f, IN_FILES));
	CHECK_OK(send_all(f.store, MODEL_NOW - HOUR / 2, &state));
	CHECK(agrees(f.store, &what, &looked_at));
	what = overview(MODEL_NOW, 3 * HOUR);
	CHECK(agrees(f.store, &what, &looked_at));
	CHECK_INT(looked_at, 0);
	what.step_ns = 7 * SECOND;
	CHECK(agrees(f.store, &what, &looked_at));
	CHECK_INT(looked_at, 0);
}

static enum err send_many(struct store *s, unsigned n, int64_t from, uint64_t *state)
{
	for (unsigned i = 0; i < n; i++)
		TRY(send_burst(s, i, from, state));
	return ERR_OK;
}

TEST(totals_of_many_services_are_there_after_a_start)
{
	CLEANUP(fixture_release) struct fixture f = {0};
	struct services_question what = overview(MODEL_NOW, HOUR);
	uint64_t state = 24;
	unsigned looked_at;

	CHECK_OK(open_store(&f, IN_FILES));
	CHECK_OK(send_many(f.store, 600, MODEL_NOW - HOUR / 2, &state));
	CHECK_OK(reopen(&f));
	/* Waits for the first round of upkeep, or is that. */
	CHECK_OK(store_settle(f.store, false, NULL));
	CHECK(agrees(f.store, &what, &looked_at));
	CHECK_INT(looked_at, 0);
}

/* Of so many services totals are computed without points, and of hours from roll-ups. */
TEST(totals_without_points_are_the_same)
{
	CLEANUP(fixture_release) struct fixture f = {0};
	CLEANUP(found_release) struct found found = {0};
	struct services_question what = overview(MODEL_NOW + 77 * SECOND, 12 * HOUR);
	uint64_t state = 25;
	unsigned looked_at;

	CHECK_OK(open_store(&f, IN_FILES));
	CHECK_OK(send_many(f.store, 1100, MODEL_NOW - HOUR / 2, &state));
	for (int i = 2; i < 22; i += 3)
		CHECK_OK(send_many(f.store, 30, MODEL_NOW - i * HOUR, &state));
	CHECK(agrees(f.store, &what, &looked_at));
	CHECK_INT(looked_at, 0);
	CHECK_OK(store_settle(f.store, true, NULL));
	what.totals_only = true;
	CHECK_OK(ask_services(f.store, &what, &found));
	CHECK_INT(found.without_points, found.services);
	CHECK(found.rollups > 0);
	what.totals_only = false;
	CHECK(agrees(f.store, &what, &looked_at));
	what.step_ns = HOUR;
	CHECK(agrees(f.store, &what, &looked_at));
	/* Borders that cut profiles. */
	for (int i = 0; i < 4; i++) {
		what = overview(MODEL_NOW - i * HOUR - 1700 * SECOND, (5 + i) * HOUR);
		CHECK(agrees(f.store, &what, &looked_at));
	}
}

TEST(totals_go_with_the_index_where_memory_is_short)
{
	CLEANUP(fixture_release) struct fixture f = {0};
	struct services_question what = overview(MODEL_NOW, HOUR);
	uint64_t state = 5;
	unsigned looked_at;

	CHECK_OK(open_store(&f, IN_FILES_CRAMPED));
	CHECK_OK(send_all(f.store, MODEL_NOW - HOUR / 2, &state));
	for (int i = 0; i < 3; i++) {
		CHECK(agrees(f.store, &what, &looked_at));
		CHECK_INT(looked_at, SERVICES);
	}
}

/* ------------------------------------------------------------------ uploads meanwhile */

struct uploading {
	struct store *store;
	atomic_bool stop;
	_Atomic(enum err) error;
	atomic_uint sent;
};

static void upload(void *context)
{
	struct uploading *u = context;
	uint64_t state = 77;

	while (!atomic_load(&u->error) && !atomic_load(&u->stop)) {
		u->error =
			send_burst(u->store, model_next(&state, SERVICES + 3),
				   MODEL_NOW - (int64_t)model_next(&state, 3000) * SECOND, &state);
		atomic_fetch_add(&u->sent, 1);
	}
}

TEST(totals_miss_nothing_that_came_while_they_were_made)
{
	CLEANUP(fixture_release) struct fixture f = {0};
	CLEANUP(found_release) struct found found = {0};
	struct services_question what = overview(MODEL_NOW, HOUR);
	struct uploading u = {0};
	struct thread thread;
	unsigned looked_at;

	CHECK_OK(open_store(&f, IN_FILES));
	u.store = f.store;
	CHECK_OK(thread_start(&thread, "upload", upload, &u));
	what.totals_only = true;
	while (atomic_load(&u.sent) < 150 && !atomic_load(&u.error)) {
		found_release(&found);
		CHECK_OK(ask_services(f.store, &what, &found));
	}
	atomic_store(&u.stop, true);
	thread_join(&thread);
	CHECK_OK(u.error);
	what.totals_only = false;
	CHECK(agrees(f.store, &what, &looked_at));
	CHECK(agrees(f.store, &what, &looked_at));
	CHECK_INT(looked_at, 0);
}
