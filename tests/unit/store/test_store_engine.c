/*
 * What every engine must do, told against store.h alone. Each test runs for the engine in memory,
 * for the one in files, and for that one after its compaction.
 */
#include <ftw.h>
#include <stdatomic.h>
#include <unistd.h>

#include "store_model.h"

#include "base/thread.h"

static int64_t model_now(void)
{
	return MODEL_NOW;
}

enum engine_kind { IN_MEMORY, IN_FILES, IN_FILES_SETTLED };

struct fixture {
	enum engine_kind kind;
	struct store *store;
	char directory[64];
	struct model model;
};

static int remove_entry(const char *path, const struct stat *info, int type, struct FTW *ftw)
{
	(void)info;
	(void)type;
	(void)ftw;
	return remove(path);
}

static void fixture_release(struct fixture *f)
{
	store_close(f->store);
	if (f->directory[0])
		nftw(f->directory, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
	model_release(&f->model);
}

static struct store_options fixture_options(void)
{
	struct store_options o = store_options_default;

	o.now_ns = model_now;
	o.limits.max_depth = 8;
	o.limits.max_series = 40;
	o.limits.max_labels = 6;
	o.limits.max_label_value = 50;
	o.limits.max_age_ns = 3 * DAY;
	o.limits.max_ahead_ns = 600 * NS_PER_S;
	return o;
}

static enum err fixture_open(struct fixture *f, struct store_options *o)
{
	struct fault fault = {0};
	enum err e;

	if (f->kind != IN_MEMORY) {
		const char *base = getenv("TMPDIR");

		if (!f->directory[0]) {
			snprintf(f->directory, sizeof(f->directory), "%s/vestal-store-XXXXXX",
				 base && strlen(base) < 30 ? base : "/tmp");
			if (!mkdtemp(f->directory))
				return ERR_IO;
		}
		o->directory = f->directory;
	}
	e = store_open(o, &f->store, &fault);
	if (e && e != ERR_UNSUPPORTED)
		test_fail(__FILE__, __LINE__, "store_open: %s", fault.text);
	return e;
}

/* Opens with options, or leaves the test: skipped where the engine is not there. */
#define OPEN_WITH(f, options)                                              \
	do {                                                               \
		enum err open_error_ = fixture_open(f, options);           \
		if (open_error_ == ERR_UNSUPPORTED) {                      \
			test_skip("this engine is not part of the build"); \
			return;                                            \
		}                                                          \
		CHECK_OK(open_error_);                                     \
	} while (0)
#define OPEN(f)                                                 \
	do {                                                    \
		struct store_options open_ = fixture_options(); \
		OPEN_WITH(f, &open_);                           \
	} while (0)

#define ENGINE_TEST(name_)                                                              \
	static void run_##name_(struct fixture *f);                                     \
	TEST(memory_##name_)                                                            \
	{                                                                               \
		CLEANUP(fixture_release) struct fixture f = {.kind = IN_MEMORY};        \
		run_##name_(&f);                                                        \
	}                                                                               \
	TEST(files_##name_)                                                             \
	{                                                                               \
		CLEANUP(fixture_release) struct fixture f = {.kind = IN_FILES};         \
		run_##name_(&f);                                                        \
	}                                                                               \
	TEST(settled_files_##name_)                                                     \
	{                                                                               \
		CLEANUP(fixture_release) struct fixture f = {.kind = IN_FILES_SETTLED}; \
		run_##name_(&f);                                                        \
	}                                                                               \
	static void run_##name_(struct fixture *f)

struct waiting {
	struct mutex lock;
	struct cond changed;
	bool done;
	enum err error;
	char text[400];
};

static void wake(void *context, enum err error, const struct fault *fault)
{
	struct waiting *w = context;

	mutex_lock(&w->lock);
	w->done = true;
	w->error = error;
	if (fault)
		memcpy(w->text, fault->text, sizeof(w->text));
	cond_signal(&w->changed);
	mutex_unlock(&w->lock);
}

static enum err commit(struct store_batch *b)
{
	struct waiting w = {.lock = MUTEX_INIT};

	cond_init(&w.changed);
	store_batch_commit(b, wake, &w);
	mutex_lock(&w.lock);
	while (!w.done)
		cond_wait(&w.changed, &w.lock);
	mutex_unlock(&w.lock);
	cond_release(&w.changed);
	mutex_release(&w.lock);
	return w.error;
}

/* Several profiles a batch: some over a dictionary of their own, some over the service's. */
static enum err send_some(struct store *s, const struct model_profile *p, size_t n, bool fast)
{
	struct store_batch *b = NULL;
	struct dict own, *d = &own;
	enum err e = store_batch_new(s, str_of(p->tenant), &b, NULL);

	if (!e)
		e = dict_init(&own, store_seed(s));
	if (e) {
		store_batch_abandon(b);
		return e;
	}
	for (size_t i = 0; !e && i < n && !strcmp(p[i].tenant, p->tenant); i++) {
		if (fast)
			e = store_batch_service(b, str_of(p[i].service), &d, NULL);
		if (!e)
			e = model_send(b, &p[i], d, NULL);
	}
	dict_release(&own);
	if (e)
		store_batch_abandon(b);
	return e ? e : commit(b);
}

static enum err send_model(struct fixture *f)
{
	for (size_t i = 0; i < f->model.n;) {
		const struct model_profile *p = &f->model.v[i];
		size_t n = 1;

		while (n < 1 + i % 13 && i + n < f->model.n && !strcmp(p[n].tenant, p->tenant))
			n++;
		TRY(send_some(f->store, p, n, i % 2));
		i += n;
	}
	return f->kind == IN_FILES_SETTLED ? store_settle(f->store, true, NULL) : ERR_OK;
}

#define SEND_MODEL(f, seed, profiles)                       \
	do {                                                \
		uint64_t state_ = (seed);                   \
		OPEN(f);                                    \
		model_fill(&(f)->model, &state_, profiles); \
		CHECK_OK(send_model(f));                    \
	} while (0)

static struct selection everything(struct str type)
{
	return (struct selection){.type = type, .from_ns = MODEL_FROM, .until_ns = MODEL_NOW + DAY};
}

/* The answer of the store and that of the model, as text; false when they differ. */
static bool merge_agrees(struct fixture *f, const char *tenant, const struct question_text *q)
{
	CLEANUP(buf_release) struct buf expected = BUF_INIT(1 << 20);
	CLEANUP(buf_release) struct buf got = BUF_INIT(1 << 20);
	struct fault fault = {0};
	struct ask ask = {.fault = &fault};
	struct profile p;
	struct dict d;
	enum err e;

	if (dict_init(&d, store_seed(f->store)))
		return false;
	profile_init(&p, &d);
	e = store_merge(f->store, str_of(tenant), &q->s, q->group_by, q->group_count, &ask, &p);
	if (e)
		printf("# store_merge: %s %s\n", err_text(e), fault.text);
	model_merge(&f->model, tenant, q, &expected);
	profile_text(q, &p, &got);
	profile_release(&p);
	dict_release(&d);
	if (e || !str_eq(buf_view(&expected), buf_view(&got))) {
		printf("# expected:\n# %.*s\n# got:\n# %.*s\n", (int)expected.n,
		       expected.n ? expected.data : "", (int)got.n, got.n ? got.data : "");
		return false;
	}
	return expected.n != 0;
}

ENGINE_TEST(merges_to_the_exact_sums)
{
	struct question_text q = {.s = everything(TYPE_CPU)};

	SEND_MODEL(f, 1, 300);
	CHECK(merge_agrees(f, "acme", &q));
	q.s.type = TYPE_SAMPLES;
	CHECK(merge_agrees(f, "acme", &q));
}

ENGINE_TEST(keeps_tenants_apart)
{
	struct question_text q = {.s = everything(TYPE_CPU)};
	struct text_answer tenants;

	SEND_MODEL(f, 2, 200);
	CHECK(merge_agrees(f, "other", &q));
	CHECK(merge_agrees(f, "acme", &q));
	CHECK(!merge_agrees(f, "nobody", &q)); /* nothing on both sides */
	CHECK_OK(store_tenants(f->store, &tenants));
	CHECK_INT(tenants.n, 2);
	CHECK_STR(tenants.v[0], "acme");
	arena_release(&tenants.arena);
}

ENGINE_TEST(averages_gauges_within_a_series_and_sums_over_series)
{
	static const struct str groups[] = {STR("pod"), STR("thread")};
	struct question_text q = {.s = everything(TYPE_HEAP)};

	SEND_MODEL(f, 3, 300);
	CHECK(merge_agrees(f, "acme", &q));
	q.group_by = groups;
	for (q.group_count = 1; q.group_count <= 2; q.group_count++)
		CHECK(merge_agrees(f, "acme", &q));
}

ENGINE_TEST(groups_by_labels_of_series_and_of_samples)
{
	static const struct str groups[] = {STR("pod"), STR("thread"), STR("service_name"),
					    STR("endpoint"), STR("nothing")};
	struct question_text q = {.s = everything(TYPE_CPU)};

	SEND_MODEL(f, 4, 300);
	for (size_t from = 0; from < 5; from++) {
		q.group_by = groups + from;
		for (q.group_count = 1; from + q.group_count <= 5; q.group_count++)
			CHECK(merge_agrees(f, "acme", &q));
	}
}

ENGINE_TEST(selects_by_equality_on_both_kinds_of_labels)
{
	static const struct matcher matchers[] = {
		{STR("service_name"), MATCH_EQUAL, STR("api"), NULL},
		{STR("pod"), MATCH_EQUAL, STR("a"), NULL},
		{STR("pod"), MATCH_NOT_EQUAL, STR("a"), NULL},
		{STR("pod"), MATCH_EQUAL, STR(""), NULL},
		{STR("pod"), MATCH_NOT_EQUAL, STR(""), NULL},
		{STR("thread"), MATCH_EQUAL, STR("t2"), NULL},
		{STR("thread"), MATCH_EQUAL, STR(""), NULL},
		{STR("endpoint"), MATCH_NOT_EQUAL, STR("/x"), NULL},
		{STR("pod"), MATCH_EQUAL, STR("not-the-series"), NULL},
		{STR("unheard-of"), MATCH_EQUAL, STR(""), NULL},
		{STR("unheard-of"), MATCH_NOT_EQUAL, STR("x"), NULL},
	};
	static const struct str group = STR("pod");
	struct question_text q = {.s = everything(TYPE_CPU), .group_by = &group, .group_count = 1};

	SEND_MODEL(f, 5, 300);
	for (size_t i = 0; i < sizeof(matchers) / sizeof(matchers[0]); i++) {
		q.s.matchers = &matchers[i];
		q.s.matcher_count = 1;
		q.s.type = TYPE_CPU;
		CHECK(merge_agrees(f, "acme", &q));
		q.s.type = TYPE_HEAP;
		CHECK(merge_agrees(f, "acme", &q));
	}
	q.s.matchers = matchers + 5;
	q.s.matcher_count = 1;
	q.s.type = TYPE_CPU;
	CHECK(merge_agrees(f, "acme", &q));
	q.s.matchers = matchers + 7;
	q.s.matcher_count = 4;
	CHECK(merge_agrees(f, "acme", &q));
}

ENGINE_TEST(selects_by_regular_expressions)
{
	static const struct {
		struct str name;
		enum match_op op;
		struct str source;
	} cases[] = {
		{STR("service_name"), MATCH_REGEX, STR("a.*")},
		{STR("pod"), MATCH_REGEX, STR("a|b")},
		{STR("pod"), MATCH_NOT_REGEX, STR("a|b")},
		{STR("thread"), MATCH_REGEX, STR("t[12]")},
		{STR("thread"), MATCH_NOT_REGEX, STR(".+")},
		{STR("endpoint"), MATCH_REGEX, STR("/.*|")},
	};
	struct question_text q = {.s = everything(TYPE_CPU)};

	SEND_MODEL(f, 6, 200);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct matcher m = {cases[i].name, cases[i].op, cases[i].source, NULL};
		struct linear_regex *regex;
		bool agrees;

		CHECK_OK(linear_regex_new(cases[i].source, &regex, NULL));
		m.regex = regex;
		q.s.matchers = &m;
		q.s.matcher_count = 1;
		agrees = merge_agrees(f, "acme", &q);
		linear_regex_free(regex);
		CHECK(agrees);
	}
}

ENGINE_TEST(selects_by_link)
{
	struct link links[3] = {model_link(1), model_link(2), model_link(3)};
	struct question_text q = {.s = everything(TYPE_CPU)};

	SEND_MODEL(f, 7, 300);
	q.s.links = links;
	for (q.s.link_count = 1; q.s.link_count <= 3; q.s.link_count++)
		CHECK(merge_agrees(f, "acme", &q));
	memset(links[0].trace_id, 0, sizeof(links[0].trace_id));
	q.s.link_count = 1;
	CHECK(merge_agrees(f, "acme", &q));
	links[0] = model_link(1);
	memset(links[0].span_id, 0, sizeof(links[0].span_id));
	CHECK(merge_agrees(f, "acme", &q));
}

ENGINE_TEST(profiles_belong_to_a_range_by_when_they_begin)
{
	struct question_text q = {.s = everything(TYPE_CPU)};

	SEND_MODEL(f, 8, 300);
	for (int64_t hours = 3; hours < 26; hours += 3) {
		q.s.from_ns = MODEL_FROM + 11 * 3600 * NS_PER_S + 1;
		q.s.until_ns = q.s.from_ns + hours * 3600 * NS_PER_S;
		CHECK(merge_agrees(f, "acme", &q));
		q.s.from_ns = q.s.until_ns - 2 * 3600 * NS_PER_S;
		CHECK(merge_agrees(f, "acme", &q));
	}
	/* Exactly the ends: the first moment is in, the last is not. */
	q.s.from_ns = f->model.v[0].time;
	q.s.until_ns = f->model.v[0].time;
	CHECK(!merge_agrees(f, f->model.v[0].tenant, &q));
}

ENGINE_TEST(answers_the_same_after_being_opened_again)
{
	struct question_text q = {.s = everything(TYPE_CPU)};
	struct store_stats stats;

	SEND_MODEL(f, 9, 200);
	store_close(f->store);
	f->store = NULL;
	OPEN(f);
	if (f->kind == IN_MEMORY) { /* which forgets */
		CHECK_OK(store_stats(f->store, STR("acme"), &stats));
		CHECK_INT(stats.profiles, 0);
		return;
	}
	CHECK(merge_agrees(f, "acme", &q));
	q.s.type = TYPE_HEAP;
	CHECK(merge_agrees(f, "acme", &q));
}

/* ------------------------------------------------------------------ series */

static double model_point(const struct fixture *f, const struct selection *s, int64_t from,
			  int64_t until, const char *function, bool *ret_any)
{
	struct selection part = *s;
	double sum = 0;

	*ret_any = false;
	part.from_ns = from > s->from_ns ? from : s->from_ns;
	part.until_ns = until < s->until_ns ? until : s->until_ns;
	for (size_t i = 0; i < f->model.n; i++) {
		const struct model_profile *p = &f->model.v[i];

		if (!model_takes_profile(&part, "acme", p))
			continue;
		*ret_any = true;
		for (unsigned r = 0; r < p->n; r++) {
			double value = (double)p->rows[r].value;

			if (function && !strstr(model_stacks[p->rows[r].stack], function))
				continue;
			sum += p->heap ? value / model_siblings(&f->model, &part, p) : value;
		}
	}
	return sum;
}

static bool series_agrees(struct fixture *f, struct str type, const char *function)
{
	struct selection s = everything(type);
	struct series_question q = {.step_ns = 2700 * NS_PER_S, .function = str_of(function)};
	struct series_answer answer;
	bool agrees = true;

	s.from_ns = MODEL_FROM + DAY / 2 + 77 * NS_PER_S;
	s.until_ns = MODEL_NOW - 13 * NS_PER_S;
	if (store_series(f->store, STR("acme"), &s, &q, NULL, &answer))
		return false;
	agrees = answer.n == 1 && answer.series[0].n >= 32;
	for (size_t i = 0; agrees && i < answer.series[0].n; i++) {
		struct point point = answer.series[0].points[i];
		bool any;
		double expected = model_point(f, &s, point.time_ns, point.time_ns + q.step_ns,
					      function, &any);

		agrees = point.time_ns % q.step_ns == 0 &&
			 (any ? fabs(point.value - expected) < 1e-6 * (1 + expected)
			      : isnan(point.value));
		if (!agrees)
			printf("# point %zu: %f, expected %f\n", i, point.value, expected);
	}
	arena_release(&answer.arena);
	return agrees;
}

ENGINE_TEST(series_have_the_value_of_every_step)
{
	SEND_MODEL(f, 10, 300);
	CHECK(series_agrees(f, TYPE_SAMPLES, NULL));
	CHECK(series_agrees(f, TYPE_HEAP, NULL));
	CHECK(series_agrees(f, TYPE_SAMPLES, "serve"));
	CHECK(series_agrees(f, TYPE_HEAP, "parse"));
}

ENGINE_TEST(series_are_grouped_and_the_largest_come_first)
{
	static const struct str group = STR("pod");
	static const struct str path[] = {STR("main"), STR("serve")};
	struct selection s = everything(TYPE_SAMPLES);
	struct series_question q = {.step_ns = DAY, .group_by = &group, .group_count = 1};
	struct series_answer answer;
	double before = INFINITY, part = 0, whole = 0;

	SEND_MODEL(f, 11, 200);
	CHECK_OK(store_series(f->store, STR("acme"), &s, &q, NULL, &answer));
	for (size_t i = 0; i < answer.n; i++) {
		double total = 0;

		for (size_t k = 0; k < answer.series[i].n; k++)
			total += isnan(answer.series[i].points[k].value)
					 ? 0
					 : answer.series[i].points[k].value;
		CHECK(total <= before);
		before = total;
		whole += total;
	}
	/* a, b, without, and rows that bring a pod where the series has none. */
	CHECK_INT(answer.n, 4);
	arena_release(&answer.arena);
	q = (struct series_question){.step_ns = 10 * DAY, .call_site = path, .call_site_count = 2};
	CHECK_OK(store_series(f->store, STR("acme"), &s, &q, NULL, &answer));
	for (size_t k = 0; k < answer.series[0].n; k++)
		part += isnan(answer.series[0].points[k].value) ? 0
								: answer.series[0].points[k].value;
	CHECK(part > 0 && part < whole);
	arena_release(&answer.arena);
	q.step_ns = 1;
	CHECK_ERR(store_series(f->store, STR("acme"), &s, &q, NULL, &answer), ERR_BAD_ARGUMENT);
}

ENGINE_TEST(heat_maps_and_exemplars_hold_every_value)
{
	struct selection s = everything(TYPE_SAMPLES);
	struct heatmap_answer heat;
	struct exemplar_answer exemplars;
	double cells = 0, values = 0, expected = 0, linked = 0;
	uint64_t untimed = 0;

	SEND_MODEL(f, 12, 200);
	for (size_t i = 0; i < f->model.n; i++) {
		const struct model_profile *p = &f->model.v[i];

		for (unsigned r = 0; model_takes_profile(&s, "acme", p) && r < p->n; r++) {
			expected += (double)p->rows[r].value;
			linked += p->rows[r].link ? (double)p->rows[r].value : 0;
		}
	}
	CHECK_OK(store_heatmap(f->store, STR("acme"), &s, 3600 * NS_PER_S, 20 * NS_PER_MS, NULL,
			       &heat));
	for (size_t i = 0; i < heat.columns * heat.rows; i++)
		cells += heat.cells[i];
	untimed = heat.untimed;
	mem_free(heat.cells);
	CHECK_INT(heat.rows, 50);
	CHECK_INT(cells, expected);
	CHECK(untimed > 0);
	CHECK_OK(store_exemplars(f->store, STR("acme"), &s, false, 0, NULL, &exemplars));
	for (size_t i = 0; i < exemplars.n; i++)
		values += exemplars.v[i].value;
	arena_release(&exemplars.arena);
	CHECK_INT(values, expected);
	CHECK_OK(store_exemplars(f->store, STR("acme"), &s, true, 0, NULL, &exemplars));
	values = 0;
	for (size_t i = 0; i < exemplars.n; i++)
		values += exemplars.v[i].value;
	arena_release(&exemplars.arena);
	CHECK_INT(values, linked);
	CHECK_OK(store_exemplars(f->store, STR("acme"), &s, false, 5, NULL, &exemplars));
	CHECK_INT(exemplars.n, 5);
	CHECK(exemplars.v[0].time_ns <= exemplars.v[4].time_ns);
	arena_release(&exemplars.arena);
}

ENGINE_TEST(selects_profiles_by_the_ids_of_exemplars)
{
	struct selection s = everything(TYPE_SAMPLES), chosen;
	struct exemplar_answer all, some;
	uint64_t ids[2];

	SEND_MODEL(f, 12, 50);
	CHECK_OK(store_exemplars(f->store, STR("acme"), &s, false, 0, NULL, &all));
	chosen = s;
	chosen.profiles = ids;
	chosen.profile_count = 2;
	for (size_t i = 0; i + 1 < all.n; i += 7) {
		double wanted = 0, value = 0;

		ids[0] = all.v[i].profile;
		ids[1] = all.v[i + 1].profile;
		/* Two uploads of one series and time have the same id. */
		for (size_t k = 0; k < all.n; k++)
			if (all.v[k].profile == ids[0] || all.v[k].profile == ids[1])
				wanted += all.v[k].value;
		CHECK_OK(store_exemplars(f->store, STR("acme"), &chosen, false, 0, NULL, &some));
		for (size_t k = 0; k < some.n; k++)
			value += some.v[k].value;
		arena_release(&some.arena);
		CHECK_INT(value, wanted);
	}
	arena_release(&all.arena);
}

/* ------------------------------------------------------------------ labels */

static bool has_text(const struct text_answer *a, const char *text)
{
	for (size_t i = 0; i < a->n; i++)
		if (str_eq(a->v[i], str_of(text)))
			return true;
	return false;
}

ENGINE_TEST(lists_labels_values_types_and_sets)
{
	static const struct matcher api = {STR("service_name"), MATCH_EQUAL, STR("api"), NULL};
	static const struct str names[] = {STR("service_name"), STR("__profile_type__")};
	struct selection s = everything(STR(""));
	struct text_answer t;
	struct label_set_answer sets;

	SEND_MODEL(f, 13, 200);
	CHECK_OK(store_label_names(f->store, STR("acme"), &s, NULL, &t));
	CHECK(has_text(&t, "service_name") && has_text(&t, "pod") && has_text(&t, "thread"));
	arena_release(&t.arena);
	CHECK_OK(store_label_values(f->store, STR("acme"), STR("service_name"), &s, 0, NULL, &t));
	CHECK_INT(t.n, 2);
	CHECK_STR(t.v[0], "api");
	arena_release(&t.arena);
	CHECK_OK(store_label_values(f->store, STR("acme"), STR("thread"), &s, 1, NULL, &t));
	CHECK_INT(t.n, 1);
	CHECK(t.more);
	arena_release(&t.arena);
	s.matchers = &api;
	s.matcher_count = 1;
	CHECK_OK(store_label_values(f->store, STR("acme"), STR("service_name"), &s, 0, NULL, &t));
	CHECK_INT(t.n, 1);
	arena_release(&t.arena);
	CHECK_OK(store_types(f->store, STR("acme"), &s, NULL, &t));
	CHECK_INT(t.n, 3);
	CHECK_STR(t.v[0], "memory:inuse_space:bytes:space:bytes");
	arena_release(&t.arena);
	CHECK_OK(store_label_sets(f->store, STR("acme"), &s, names, 2, NULL, &sets));
	CHECK_INT(sets.n, 3);
	CHECK_INT(sets.v[0].n, 2);
	arena_release(&sets.arena);
	CHECK_OK(store_label_sets(f->store, STR("acme"), &s, NULL, 0, NULL, &sets));
	CHECK_INT(sets.n, 3);
	arena_release(&sets.arena);
	s.matchers = NULL;
	s.matcher_count = 0;
	CHECK_OK(store_types(f->store, STR("nobody"), &s, NULL, &t));
	CHECK_INT(t.n, 0);
	arena_release(&t.arena);
}

ENGINE_TEST(needs_one_type_to_merge)
{
	static const struct matcher heap = {STR("__profile_type__"), MATCH_EQUAL,
					    STR("memory:inuse_space:bytes:space:bytes"), NULL};
	static const struct matcher memory = {STR("__name__"), MATCH_EQUAL, STR("memory"), NULL};
	struct question_text q = {.s = everything(STR(""))};
	struct fault fault = {0};
	struct ask ask = {.fault = &fault};
	const struct matcher *both[] = {&heap, &memory};

	SEND_MODEL(f, 14, 100);
	for (unsigned i = 0; i < 3; i++) {
		struct dict d;
		struct profile p;
		enum err e;

		CHECK_OK(dict_init(&d, store_seed(f->store)));
		profile_init(&p, &d);
		q.s.matchers = i ? both[i - 1] : NULL;
		q.s.matcher_count = i ? 1 : 0;
		e = store_merge(f->store, STR("acme"), &q.s, NULL, 0, &ask, &p);
		if (i)
			e = e || !p.row_count ||
					    !str_eq(dict_str(&d, p.types[0].type),
						    STR("inuse_space"))
				    ? ERR_INTERNAL
				    : ERR_OK;
		profile_release(&p);
		dict_release(&d);
		CHECK_ERR(e, i ? ERR_OK : ERR_BAD_ARGUMENT);
	}
	CHECK(strstr(fault.text, "more than one profile type") != NULL);
}

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
	q.s.type = TYPE_HEAP;
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
