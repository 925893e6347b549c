/*
 * What every engine must do: limits, deleting, many at once, and no memory.
 */
#include "engine_fixture.h"

/* ------------------------------------------------------------------ limits */

static enum err send_one(struct fixture *f, const struct model_profile *p, struct fault *fault,
			 uint64_t *ret_cut)
{
	struct store_batch *b;
	struct dict d;
	enum err e;

	TRY(store_batch_new(f->store, STR("acme"), &b, fault));
	e = dict_init(&d, store_seed(f->store));
	if (!e) {
		e = model_send(b, p, &d, fault);
		dict_release(&d);
	}
	if (ret_cut)
		*ret_cut = store_batch_cut_stacks(b);
	if (e)
		store_batch_abandon(b);
	return e ? e : commit(b);
}

static struct model_profile one_row(const char *pod)
{
	return (struct model_profile){
		.tenant = "acme",
		.service = "api",
		.pod = pod,
		.time = MODEL_NOW - 3600 * NS_PER_S,
		.n = 1,
		.rows = {{.value = 3}},
	};
}

ENGINE_TEST(refuses_times_that_cannot_be_true_with_the_reason)
{
	struct model_profile p = one_row("a");
	struct fault fault = {0};
	struct store_stats stats;

	OPEN(f);
	p.time = MODEL_NOW - 4 * DAY;
	CHECK_ERR(send_one(f, &p, &fault, NULL), ERR_BAD_ARGUMENT);
	CHECK(strstr(fault.text, "older") != NULL);
	p.time = MODEL_NOW + 700 * NS_PER_S;
	CHECK_ERR(send_one(f, &p, &fault, NULL), ERR_BAD_ARGUMENT);
	CHECK(strstr(fault.text, "ahead") != NULL);
	p.time = 0;
	CHECK_ERR(send_one(f, &p, &fault, NULL), ERR_BAD_ARGUMENT);
	p.time = MODEL_NOW + 500 * NS_PER_S;
	CHECK_OK(send_one(f, &p, &fault, NULL));
	CHECK_OK(store_stats(f->store, STR("acme"), &stats));
	CHECK_INT(stats.refused[ERR_BAD_ARGUMENT], 3);
	CHECK_INT(stats.profiles, 1);
}

ENGINE_TEST(refuses_more_series_than_allowed_and_keeps_taking_known_ones)
{
	struct model_profile p;
	struct fault fault = {0};
	char name[16];

	OPEN(f);
	for (unsigned i = 0; i < 40; i++) {
		snprintf(name, sizeof(name), "pod-%u", i);
		p = one_row(name);
		p.service = i % 2 ? "api" : "web";
		CHECK_OK(send_one(f, &p, &fault, NULL));
	}
	p = one_row("one-more");
	CHECK_ERR(send_one(f, &p, &fault, NULL), ERR_TOO_LARGE);
	CHECK(strstr(fault.text, "series") != NULL);
	p = one_row("pod-1");
	CHECK_OK(send_one(f, &p, &fault, NULL));
}

ENGINE_TEST(refuses_labels_over_their_limits)
{
	struct model_profile p = one_row("012345678901234567890123456789012345678901234567890123");
	struct fault fault = {0};

	OPEN(f);
	CHECK_ERR(send_one(f, &p, &fault, NULL), ERR_TOO_LARGE);
	CHECK(strstr(fault.text, "pod") != NULL);
	p = one_row("a");
	p.service = "";
	CHECK_ERR(send_one(f, &p, &fault, NULL), ERR_BAD_ARGUMENT);
	CHECK(strstr(fault.text, "service_name") != NULL);
}

static enum err send_deep(struct fixture *f, uint64_t *ret_cut)
{
	static const char deep[] = "a;b;c;d;e;f;g;h;i;j;k";
	struct label_pair label = {STR("service_name"), STR("api")};
	struct str type = TYPE_SAMPLES;
	struct store_batch *b;
	struct profile p;
	struct dict *d;
	struct series_profile s = {.labels = &label,
				   .label_count = 1,
				   .types = &type,
				   .profile = &p,
				   .time_ns = MODEL_NOW};
	struct row row = {0};
	enum err e;

	TRY(store_batch_new(f->store, STR("acme"), &b, NULL));
	e = store_batch_service(b, STR("api"), &d, NULL);
	if (!e) {
		profile_init(&p, d);
		e = profile_add_type(&p, STR("samples"), STR("count"));
		if (!e)
			e = model_stack(d, deep, &row.stack);
		if (!e)
			e = profile_add(&p, &row, (int64_t[]){5});
		if (!e)
			e = store_batch_add(b, &s, NULL);
		profile_release(&p);
	}
	*ret_cut = store_batch_cut_stacks(b);
	if (e)
		store_batch_abandon(b);
	return e ? e : commit(b);
}

ENGINE_TEST(cuts_deep_stacks_at_the_leaf_and_says_so)
{
	CLEANUP(buf_release) struct buf got = BUF_INIT(1 << 16);
	struct question_text q = {.s = everything(TYPE_SAMPLES)};
	uint64_t cut = 0;
	struct dict d;
	struct profile p;
	enum err e;

	OPEN(f);
	CHECK_OK(send_deep(f, &cut));
	CHECK_INT(cut, 1);
	CHECK_OK(dict_init(&d, store_seed(f->store)));
	profile_init(&p, &d);
	e = store_merge(f->store, STR("acme"), &q.s, NULL, 0, NULL, &p);
	profile_text(&q, &p, &got);
	profile_release(&p);
	dict_release(&d);
	CHECK_OK(e);
	CHECK_STR(buf_view(&got), "|a;b;c;d;e;f;g;h 5\n");
}

ENGINE_TEST(stops_at_the_memory_ceiling_and_when_cancelled)
{
	struct selection s = everything(TYPE_CPU);
	struct fault fault = {0};
	atomic_bool cancelled = true;
	struct ask poor = {.max_memory = 16, .fault = &fault}, gone = {.cancelled = &cancelled};
	struct profile p;
	struct dict d;
	enum err first, second;

	SEND_MODEL(f, 15, 50);
	CHECK_OK(dict_init(&d, store_seed(f->store)));
	profile_init(&p, &d);
	first = store_merge(f->store, STR("acme"), &s, NULL, 0, &poor, &p);
	profile_release(&p);
	second = store_merge(f->store, STR("acme"), &s, NULL, 0, &gone, &p);
	profile_release(&p);
	dict_release(&d);
	CHECK_ERR(first, ERR_TOO_LARGE);
	CHECK_ERR(second, ERR_CANCELLED);
}

/* ------------------------------------------------------------------ keeping */

static void forget(struct fixture *f, const char *service, bool heap_too)
{
	size_t kept = 0;

	for (size_t i = 0; i < f->model.n; i++) {
		const struct model_profile *p = &f->model.v[i];

		if (!strcmp(p->tenant, "acme") && !strcmp(p->service, service) &&
		    (heap_too || !p->heap))
			continue;
		f->model.v[kept++] = *p;
	}
	f->model.n = kept;
}

ENGINE_TEST(deletes_what_is_selected_and_nothing_else)
{
	static const struct matcher api = {STR("service_name"), MATCH_EQUAL, STR("api"), NULL};
	struct selection s = everything(TYPE_CPU), all;
	struct question_text q = {.s = everything(TYPE_CPU)};
	struct text_answer types;
	uint64_t deleted = 0;

	SEND_MODEL(f, 16, 200);
	s.matchers = &api;
	s.matcher_count = 1;
	CHECK_OK(store_delete(f->store, STR("acme"), &s, NULL, &deleted));
	CHECK(deleted > 0);
	/* The other column of the same profiles is still there. */
	q.s.type = TYPE_SAMPLES;
	CHECK(merge_agrees(f, "acme", &q));
	s.type = TYPE_SAMPLES;
	CHECK_OK(store_delete(f->store, STR("acme"), &s, NULL, &deleted));
	forget(f, "api", false);
	CHECK(merge_agrees(f, "acme", &q));
	CHECK(merge_agrees(f, "other", &q));
	q.s = all_levels();
	CHECK(merge_agrees(f, "acme", &q));
	all = s;
	all.type = STR("");
	CHECK_OK(store_delete(f->store, STR("acme"), &all, NULL, &deleted));
	forget(f, "api", true);
	CHECK(merge_agrees(f, "acme", &q));
	CHECK_OK(store_types(f->store, STR("acme"), &all, NULL, &types));
	CHECK_INT(types.n, 0);
	arena_release(&types.arena);
}

/* A process that slept: its time is covered, and must not be when the profile is deleted. */
ENGINE_TEST(deletes_profiles_without_rows)
{
	struct model_profile v[] = {one_row("a"), one_row("a"), one_row("b")};
	struct selection s = everything(TYPE_CPU);
	struct store_stats stats;
	uint64_t deleted = 0;

	OPEN(f);
	v[1].n = v[2].n = 0;
	v[1].time += v[1].duration;
	CHECK_OK(send_some(f->store, v, 3, false));
	if (f->kind == IN_FILES_SETTLED)
		CHECK_OK(store_settle(f->store, true, NULL));
	CHECK_OK(store_delete(f->store, STR("acme"), &s, NULL, &deleted));
	CHECK_INT(deleted, 3);
	/* The counts of samples are still there. */
	CHECK_OK(store_stats(f->store, STR("acme"), &stats));
	CHECK_INT(stats.profiles, 3);
	s.type = TYPE_SAMPLES;
	CHECK_OK(store_delete(f->store, STR("acme"), &s, NULL, &deleted));
	CHECK_OK(store_stats(f->store, STR("acme"), &stats));
	CHECK_INT(stats.profiles, 0);
}

ENGINE_TEST(an_abandoned_batch_leaves_nothing)
{
	struct model_profile p = one_row("a");
	struct store_batch *b;
	struct store_stats stats;
	struct dict d;
	enum err e;

	OPEN(f);
	CHECK_OK(store_batch_new(f->store, STR("acme"), &b, NULL));
	CHECK_OK(dict_init(&d, store_seed(f->store)));
	e = model_send(b, &p, &d, NULL);
	dict_release(&d);
	store_batch_abandon(b);
	CHECK_OK(e);
	CHECK_OK(store_stats(f->store, STR("acme"), &stats));
	CHECK_INT(stats.profiles, 0);
	CHECK_OK(store_batch_new(f->store, STR("acme"), &b, NULL));
	CHECK_OK(commit(b));
}

ENGINE_TEST(counts_what_it_holds)
{
	struct store_stats stats;
	uint64_t profiles = 0;

	SEND_MODEL(f, 17, 100);
	for (size_t i = 0; i < f->model.n; i++)
		profiles += !strcmp(f->model.v[i].tenant, "acme");
	CHECK_OK(store_stats(f->store, STR("acme"), &stats));
	CHECK_INT(stats.profiles, profiles);
	CHECK_INT(stats.services, 2);
	CHECK(stats.series >= 6 && stats.series <= 12);
	CHECK(stats.oldest_ns >= MODEL_FROM && stats.newest_ns < MODEL_NOW);
	CHECK(stats.rows > profiles);
}

ENGINE_TEST(keeps_spans_and_settings)
{
	struct label_pair attribute = {STR("http.route"), STR("/x")};
	struct trace_span span = {
		.trace_id = {1},
		.span_id = {2},
		.service = STR("api"),
		.operation = STR("GET /x"),
		.start_ns = MODEL_NOW - NS_PER_S,
		.duration_ns = 5000,
		.attributes = &attribute,
		.attribute_count = 1,
	};
	struct span_question q = {.from_ns = MODEL_FROM, .until_ns = MODEL_NOW, .limit = 10};
	struct span_answer spans;
	struct setting_answer settings;
	struct store_batch *b;

	OPEN(f);
	CHECK_OK(store_batch_new(f->store, STR("acme"), &b, NULL));
	CHECK_OK(store_batch_span(b, &span, NULL));
	span.span_id[0] = 3;
	span.start_ns += 10;
	span.service = STR("web");
	CHECK_OK(store_batch_span(b, &span, NULL));
	CHECK_OK(commit(b));
	CHECK_OK(store_spans(f->store, STR("acme"), &q, NULL, &spans));
	CHECK_INT(spans.n, 2);
	CHECK_INT(spans.v[0].span_id[0], 3);
	CHECK_STR(spans.v[1].attributes[0].value, "/x");
	arena_release(&spans.arena);
	q.service = STR("api");
	CHECK_OK(store_spans(f->store, STR("acme"), &q, NULL, &spans));
	CHECK_INT(spans.n, 1);
	arena_release(&spans.arena);
	CHECK_OK(store_spans(f->store, STR("other"), &q, NULL, &spans));
	CHECK_INT(spans.n, 0);
	arena_release(&spans.arena);

	CHECK_OK(store_setting_set(f->store, STR("acme"), STR("theme"), STR("dark")));
	CHECK_OK(store_setting_set(f->store, STR("acme"), STR("home"), STR("api")));
	CHECK_OK(store_setting_set(f->store, STR("acme"), STR("theme"), STR("light")));
	CHECK_OK(store_settings(f->store, STR("acme"), &settings));
	CHECK_INT(settings.n, 2);
	CHECK_STR(settings.v[1].value, "light");
	arena_release(&settings.arena);
	CHECK_OK(store_setting_set(f->store, STR("acme"), STR("home"), (struct str){0}));
	CHECK_OK(store_settings(f->store, STR("acme"), &settings));
	CHECK_INT(settings.n, 1);
	arena_release(&settings.arena);
}

/* ------------------------------------------------------------------ many at once */

#define WRITERS	     3
#define READERS	     2
#define ROUNDS	     40
#define WRITER_VALUE 2

struct crowd {
	struct fixture *f;
	atomic_int failures;
	atomic_bool over;
};

struct member {
	struct crowd *crowd;
	unsigned number;
};

/* Stacks that nobody has seen before, over the service's dictionary and over an own one. */
static enum err write_round(struct store *s, unsigned writer, unsigned round)
{
	struct model_profile p = one_row(writer % 2 ? "a" : "b");

	p.rows[0].value = WRITER_VALUE;
	p.rows[0].stack = round % 7;
	p.rows[0].labels = round % 5;
	p.service = round % 3 ? "api" : "web";
	/* Today's dictionary, and a profile of yesterday. */
	if (round % 4 == 0)
		p.time -= DAY;
	return send_some(s, &p, 1, (round + writer) % 2);
}

static void writer(void *context)
{
	struct member *m = context;

	for (unsigned i = 0; i < ROUNDS; i++)
		if (write_round(m->crowd->f->store, m->number, i))
			atomic_fetch_add(&m->crowd->failures, 1);
}

static enum err total_of(struct store *s, int64_t *ret)
{
	struct selection selection = everything(TYPE_SAMPLES);
	struct profile p;
	struct dict d;
	enum err e;

	TRY(dict_init(&d, store_seed(s)));
	profile_init(&p, &d);
	e = store_merge(s, STR("acme"), &selection, NULL, 0, NULL, &p);
	if (!e)
		*ret = profile_total(&p, 0);
	profile_release(&p);
	dict_release(&d);
	return e;
}

static void reader(void *context)
{
	struct member *m = context;
	int64_t before = 0;

	while (!atomic_load(&m->crowd->over)) {
		int64_t total = 0;

		if (total_of(m->crowd->f->store, &total) || total < before)
			atomic_fetch_add(&m->crowd->failures, 1);
		before = total;
	}
}

ENGINE_TEST(takes_writers_and_readers_at_once)
{
	struct crowd crowd = {.f = f};
	struct member members[WRITERS + READERS];
	struct thread threads[WRITERS + READERS] = {0};
	int64_t total = 0;

	OPEN(f);
	for (unsigned i = 0; i < WRITERS + READERS; i++) {
		members[i] = (struct member){&crowd, i};
		CHECK_OK(thread_start(&threads[i], "crowd", i < WRITERS ? writer : reader,
				      &members[i]));
	}
	for (unsigned i = 0; i < WRITERS; i++)
		thread_join(&threads[i]);
	atomic_store(&crowd.over, true);
	for (unsigned i = WRITERS; i < WRITERS + READERS; i++)
		thread_join(&threads[i]);
	CHECK_INT(crowd.failures, 0);
	CHECK_OK(total_of(f->store, &total));
	CHECK_INT(total, WRITERS * ROUNDS * WRITER_VALUE);
}

/* ------------------------------------------------------------------ memory runs out */

static enum err whole_life(void)
{
	struct store_options o = fixture_options();
	struct model_profile p = one_row("a");
	struct store *s;
	int64_t total = 0;
	enum err e;

	p.rows[0].labels = 2;
	p.rows[0].link = 1;
	TRY(store_open(&o, &s, NULL));
	e = send_some(s, &p, 1, false);
	if (!e)
		e = send_some(s, &p, 1, true);
	if (!e)
		e = total_of(s, &total);
	store_close(s);
	return e ? e : total == 6 ? ERR_OK : ERR_INTERNAL;
}

TEST(memory_copes_with_failing_allocations)
{
	ALLOC_SWEEP(whole_life());
}
