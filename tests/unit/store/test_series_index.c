/*
 * The index of series: answers about labels, types and all services over time are those of the
 * engine in memory, which looks through everything it has, whatever happened to the files.
 */
#include <sqlite3.h>

#include "engine_fixture.h"

#include "store/scratch.h"
#include "store/series_index.h"

#define MEASURED "process_cpu:cpu:nanoseconds:cpu:nanoseconds"
#define COMPUTED MEASURED TYPE_DERIVED
#define SAMPLES	 "process_cpu:samples:count:cpu:nanoseconds"
#define HEAP	 "memory:inuse_space:bytes:space:bytes"
#define SECOND	 NS_PER_S

/* ------------------------------------------------------------------ random data */

static const char *const type_lists[][2] = {
	{MEASURED, NULL}, {COMPUTED, NULL}, {SAMPLES, MEASURED}, {HEAP, NULL}};

static const char *const service_names[] = {"api", "batch", "cart", "db", "edge", "front", "gate"};

struct random_profile {
	unsigned service, pod, types, thread;
	int64_t time, duration, value;
};

static struct random_profile next_profile(uint64_t *state)
{
	return (struct random_profile){
		.service = model_next(state, 7),
		.pod = model_next(state, 4),
		.types = model_next(state, 4),
		.thread = model_next(state, 6),
		.time = MODEL_FROM + DAY / 3 + (int64_t)model_next(state, 86400 * 10 / 9) * SECOND +
			model_next(state, 1000000000),
		.duration = model_next(state, 3) ? model_next(state, 400) * SECOND : 15 * SECOND,
		.value = 1 + model_next(state, 1000000),
	};
}

static enum err fill_profile(struct profile *p, struct dict *d, const struct random_profile *r)
{
	int64_t values[2] = {r->value, r->value * 7};
	struct row row = {0};
	uint32_t label;
	char text[20];

	TRY(profile_add_type(p, STR("a"), STR("nanoseconds")));
	if (type_lists[r->types][1])
		TRY(profile_add_type(p, STR("b"), STR("nanoseconds")));
	TRY(model_stack(d, r->value % 2 ? "main;work" : "main;rest", &row.stack));
	if (r->thread > 2) {
		snprintf(text, sizeof(text), "t%u", r->thread);
		TRY(dict_label_text(d, STR("thread"), str_of(text), &label));
		TRY(dict_label_set(d, &label, 1, &row.labels));
	}
	return profile_add(p, &row, values);
}

static enum err add_profile(struct store *s, struct store_batch *b, const struct random_profile *r)
{
	struct str types[2];
	struct label_pair labels[3];
	struct series_profile series = {
		.labels = labels, .types = types, .time_ns = r->time, .duration_ns = r->duration};
	struct profile p;
	struct dict d;
	char pod[20];
	enum err e = dict_init(&d, store_seed(s));

	if (e)
		return e;
	snprintf(pod, sizeof(pod), "pod-%u", r->pod);
	if (r->pod)
		labels[series.label_count++] = (struct label_pair){STR("pod"), str_of(pod)};
	labels[series.label_count++] =
		(struct label_pair){STR("service_name"), str_of(service_names[r->service])};
	for (int t = 0; t < 2 && type_lists[r->types][t]; t++)
		types[t] = str_of(type_lists[r->types][t]);
	profile_init(&p, &d);
	e = fill_profile(&p, &d, r);
	series.profile = &p;
	if (!e)
		e = store_batch_add(b, &series, NULL);
	profile_release(&p);
	dict_release(&d);
	return e;
}

static enum err send_profiles(struct store *s, const struct random_profile *v, size_t n)
{
	struct store_batch *b;
	enum err e;

	TRY(store_batch_new(s, STR("acme"), &b, NULL));
	for (size_t i = 0; i < n; i++)
		if ((e = add_profile(s, b, &v[i]))) {
			store_batch_abandon(b);
			return e;
		}
	return commit(b);
}

/* The same to both. */
static enum err send_both(struct store *a, struct store *b, uint64_t *state, size_t batches)
{
	for (size_t i = 0; i < batches; i++) {
		struct random_profile v[8];
		size_t n = 1 + model_next(state, 8);

		for (size_t k = 0; k < n; k++)
			v[k] = next_profile(state);
		TRY(send_profiles(a, v, n));
		TRY(send_profiles(b, v, n));
	}
	return ERR_OK;
}

/* ------------------------------------------------------------------ answers as text */

static void put_texts(const char *what, struct text_answer *a, struct buf *out)
{
	buf_printf(out, "%s:", what);
	for (size_t i = 0; i < a->n; i++)
		buf_printf(out, " %.*s", (int)a->v[i].n, a->v[i].p);
	buf_printf(out, "\n");
	arena_release(&a->arena);
}

static enum err put_values(struct store *s, const struct selection *selection, const char *name,
			   struct buf *out)
{
	struct text_answer t;

	TRY(store_label_values(s, STR("acme"), str_of(name), selection, 0, NULL, &t));
	put_texts(name, &t, out);
	TRY(store_label_values(s, STR("acme"), str_of(name), selection, 2, NULL, &t));
	buf_printf(out, "%s ", t.more ? "more than" : "all");
	put_texts(name, &t, out);
	return ERR_OK;
}

static enum err put_sets(struct store *s, const struct selection *selection,
			 const struct str *names, size_t n, struct buf *out)
{
	struct label_set_answer sets;

	TRY(store_label_sets(s, STR("acme"), selection, names, n, NULL, &sets));
	for (size_t i = 0; i < sets.n; i++) {
		for (size_t k = 0; k < sets.v[i].n; k++)
			buf_printf(out, " %.*s=%.*s", (int)sets.v[i].labels[k].name.n,
				   sets.v[i].labels[k].name.p, (int)sets.v[i].labels[k].value.n,
				   sets.v[i].labels[k].value.p);
		buf_printf(out, "\n");
	}
	arena_release(&sets.arena);
	return ERR_OK;
}

static enum err put_labels(struct store *s, const struct selection *selection, struct buf *out)
{
	static const struct str some[] = {STR("pod"), STR("__profile_type__"), STR("__type__")};
	struct text_answer t;

	TRY(store_label_names(s, STR("acme"), selection, NULL, &t));
	put_texts("names", &t, out);
	TRY(store_types(s, STR("acme"), selection, NULL, &t));
	put_texts("types", &t, out);
	TRY(put_values(s, selection, "service_name", out));
	TRY(put_values(s, selection, "pod", out));
	TRY(put_values(s, selection, "thread", out));
	TRY(put_values(s, selection, "nothing", out));
	TRY(put_values(s, selection, "__unit__", out));
	TRY(put_sets(s, selection, NULL, 0, out));
	TRY(put_sets(s, selection, some, 1, out));
	return put_sets(s, selection, some, 3, out);
}

static int by_type(const void *left, const void *right)
{
	const struct series_points *a = left, *b = right;

	return str_cmp(a->type, b->type);
}

static struct str service_of(const struct series_points *s)
{
	return s->label_count ? s->labels[0].value : (struct str){0};
}

/* Those of one service. */
static void put_series(const struct series_answer *a, struct str service, struct buf *out)
{
	if (a->n)
		qsort(a->series, a->n, sizeof(*a->series), by_type);
	for (size_t i = 0; i < a->n; i++) {
		const struct series_points *s = &a->series[i];

		if (!str_eq(service_of(s), service))
			continue;

		buf_printf(out, "  %.*s %lld", (int)s->type.n, s->type.p, (long long)s->covered_ns);
		for (size_t k = 0; k < s->n; k++)
			if (!isnan(s->points[k].value))
				buf_printf(out, " %lld=%.17g/%lld", (long long)s->points[k].time_ns,
					   s->points[k].value, (long long)s->covered[k]);
		buf_printf(out, "\n");
	}
}

static bool has_service(const struct series_answer *a, struct str service)
{
	for (size_t i = 0; i < a->n; i++)
		if (str_eq(service_of(&a->series[i]), service))
			return true;
	return false;
}

static enum err put_service(void *context, struct str service, const struct series_answer *answers)
{
	struct buf *out = context;
	bool any = has_service(&answers[0], service) || has_service(&answers[1], service);

	if (any)
		buf_printf(out, "%.*s\n", (int)service.n, service.p);
	for (int i = 0; i < 2; i++)
		if (has_service(&answers[i], service)) {
			buf_printf(out, " range %d\n", i);
			put_series(&answers[i], service, out);
		}
	return ERR_OK;
}

static void put_wholes(const struct series_answer *a, struct buf *out)
{
	if (a->n)
		qsort(a->series, a->n, sizeof(*a->series), by_type);
	for (size_t i = 0; i < a->n; i++)
		buf_printf(out, "%.*s %lld\n", (int)a->series[i].type.n, a->series[i].type.p,
			   (long long)a->series[i].covered_ns);
}

/* The same by questions about everything at once. */
static enum err put_services_slowly(struct store *s, const struct selection *selection,
				    const struct services_question *q, struct buf *out)
{
	static const struct str by[] = {STR("service_name")};
	struct series_question what = {
		.group_by = by, .group_count = 1, .step_ns = q->step_ns, .each_type = true};
	struct series_answer answers[SERVICES_RANGES] = {0}, whole;
	struct selection range = *selection;

	for (size_t i = 0; i < q->range_count; i++) {
		range.from_ns = q->ranges[i].from_ns;
		range.until_ns = q->ranges[i].until_ns;
		TRY(store_series(s, STR("acme"), &range, &what, NULL, &answers[i]));
	}
	for (size_t i = 0; i < sizeof(service_names) / sizeof(service_names[0]); i++)
		TRY(put_service(out, str_of(service_names[i]), answers));
	range.from_ns = q->ranges[0].from_ns;
	range.until_ns = q->ranges[0].until_ns;
	what.group_by = NULL;
	what.group_count = 0;
	TRY(store_series(s, STR("acme"), &range, &what, NULL, &whole));
	put_wholes(&whole, out);
	arena_release(&whole.arena);
	for (size_t i = 0; i < q->range_count; i++)
		arena_release(&answers[i].arena);
	return ERR_OK;
}

static int by_id(const void *left, const void *right)
{
	const struct type_coverage *a = left, *b = right;

	return str_cmp(a->type, b->type);
}

static enum err put_services(struct store *s, const struct selection *selection,
			     const struct services_question *q, struct buf *out)
{
	struct services_answer whole;

	TRY(store_services(s, STR("acme"), selection, q, NULL, put_service, out, &whole));
	if (whole.n)
		qsort(whole.types, whole.n, sizeof(*whole.types), by_id);
	for (size_t i = 0; i < whole.n; i++)
		buf_printf(out, "%.*s %lld\n", (int)whole.types[i].type.n, whole.types[i].type.p,
			   (long long)whole.types[i].covered_ns);
	arena_release(&whole.arena);
	return ERR_OK;
}

static bool same_text(const struct buf *a, const struct buf *b)
{
	struct str x = buf_view(a), y = buf_view(b), expected = {0}, got = {0};

	if (str_eq(x, y))
		return true;
	for (bool more = true; more;) {
		bool first = str_split(&x, '\n', &expected), second = str_split(&y, '\n', &got);

		more = first || second;
		if (!str_eq(expected, got)) {
			printf("# expected: %.*s\n# got: %.*s\n", (int)expected.n, expected.p,
			       (int)got.n, got.p);
			break;
		}
	}
	return false;
}

/* ------------------------------------------------------------------ random questions */

struct random_question {
	struct selection s;
	struct matcher matchers[3];
	struct linear_regex *regex;
};

static void question_free(struct random_question *q)
{
	linear_regex_free(q->regex);
}

static enum err make_question(struct random_question *q, uint64_t *state, bool any_range)
{
	static const struct matcher all[] = {
		{STR("service_name"), MATCH_EQUAL, STR("cart"), NULL},
		{STR("service_name"), MATCH_NOT_EQUAL, STR("db"), NULL},
		{STR("pod"), MATCH_EQUAL, STR("pod-2"), NULL},
		{STR("pod"), MATCH_EQUAL, STR(""), NULL},
		{STR("pod"), MATCH_NOT_EQUAL, STR("pod-1"), NULL},
		{STR("thread"), MATCH_EQUAL, STR("t4"), NULL},
		{STR("thread"), MATCH_NOT_EQUAL, STR(""), NULL},
		{STR("nothing"), MATCH_EQUAL, STR("x"), NULL},
		{STR("nothing"), MATCH_EQUAL, STR(""), NULL},
		{STR("__type__"), MATCH_EQUAL, STR("cpu"), NULL},
		{STR("__name__"), MATCH_NOT_EQUAL, STR("memory"), NULL},
		{STR("pod"), MATCH_REGEX, STR("pod-[13]"), NULL},
		{STR("service_name"), MATCH_NOT_REGEX, STR("pod-[13]|api"), NULL},
	};
	unsigned n = model_next(state, 3);

	*q = (struct random_question){.s = everything(STR(""))};
	TRY(linear_regex_new(STR("pod-[13]|api|batch"), &q->regex, NULL));
	for (unsigned i = 0; i < n; i++) {
		q->matchers[i] = all[model_next(state, sizeof(all) / sizeof(all[0]))];
		q->matchers[i].regex = q->regex;
	}
	q->s.matchers = q->matchers;
	q->s.matcher_count = n;
	if (!model_next(state, 4))
		q->s.type = STR(MEASURED);
	if (any_range) {
		q->s.from_ns = MODEL_FROM + (int64_t)model_next(state, 2 * 86400) * SECOND;
		q->s.until_ns = q->s.from_ns + (int64_t)(1 + model_next(state, 86400)) * SECOND;
	}
	return ERR_OK;
}

static bool labels_agree(struct store *a, struct store *b, uint64_t *state, bool any_range)
{
	CLEANUP(buf_release) struct buf x = BUF_INIT(1 << 22);
	CLEANUP(buf_release) struct buf y = BUF_INIT(1 << 22);
	CLEANUP(question_free) struct random_question q;

	return !make_question(&q, state, any_range) && !put_labels(a, &q.s, &x) &&
	       !put_labels(b, &q.s, &y) && same_text(&x, &y);
}

/* Ranges that cut profiles, of any step; now and then of whole hours, which roll-ups answer. */
static bool services_agree(struct store *s, uint64_t *state)
{
	CLEANUP(buf_release) struct buf x = BUF_INIT(1 << 24);
	CLEANUP(buf_release) struct buf y = BUF_INIT(1 << 24);
	CLEANUP(question_free) struct random_question q;
	bool hours = !model_next(state, 3);
	int64_t unit = hours ? 3600 * SECOND : 1 + model_next(state, 1000) * SECOND;
	int64_t from = MODEL_FROM + DAY / 2 + (int64_t)model_next(state, hours ? 12 : 40) * unit;
	int64_t length = (int64_t)(1 + model_next(state, hours ? 24 : 60)) * unit;
	struct services_question what = {
		.ranges = {{from, from + length}, {from - length, from}},
		.range_count = 1 + model_next(state, 2),
		.step_ns = hours ? 3600 * SECOND : 1 + length / (1 + model_next(state, 50)),
	};

	return !make_question(&q, state, false) && !put_services_slowly(s, &q.s, &what, &x) &&
	       !put_services(s, &q.s, &what, &y) && same_text(&x, &y);
}

struct pair {
	struct fixture files, memory;
};

static void pair_release(struct pair *p)
{
	fixture_release(&p->files);
	fixture_release(&p->memory);
}

static enum err pair_open(struct pair *p, enum engine_kind kind)
{
	struct store_options o = fixture_options();

	p->files.kind = kind;
	p->memory.kind = IN_MEMORY;
	TRY(fixture_open(&p->memory, &o));
	o = fixture_options();
	return fixture_open(&p->files, &o);
}

static enum err pair_reopen(struct pair *p)
{
	struct store_options o = fixture_options();

	store_close(p->files.store);
	p->files.store = NULL;
	return fixture_open(&p->files, &o);
}

static enum err delete_both(struct pair *p, const struct selection *s)
{
	uint64_t a, b;

	TRY(store_delete(p->memory.store, STR("acme"), s, NULL, &a));
	TRY(store_delete(p->files.store, STR("acme"), s, NULL, &b));
	return a == b ? ERR_OK : ERR_INTERNAL;
}

/* ------------------------------------------------------------------ tests */

static void check_agreement(enum engine_kind kind, uint64_t seed)
{
	CLEANUP(pair_release) struct pair p = {0};
	uint64_t state = seed;

	CHECK_OK(pair_open(&p, kind));
	for (int round = 0; round < 3; round++) {
		CHECK_OK(send_both(p.memory.store, p.files.store, &state, 20));
		if (kind == IN_FILES_SETTLED)
			CHECK_OK(store_settle(p.files.store, true, NULL));
		for (int i = 0; i < 20; i++) {
			CHECK(labels_agree(p.memory.store, p.files.store, &state,
					   kind != IN_FILES_CRAMPED));
			CHECK(services_agree(p.files.store, &state));
			CHECK(services_agree(p.memory.store, &state));
		}
	}
}

TEST(index_answers_as_looking_through_everything)
{
	check_agreement(IN_FILES, 1);
}

TEST(index_answers_alike_after_compaction)
{
	check_agreement(IN_FILES_SETTLED, 2);
}

TEST(index_answers_alike_without_memory_to_keep_it)
{
	check_agreement(IN_FILES_CRAMPED, 3);
}

TEST(index_forgets_what_was_deleted)
{
	CLEANUP(pair_release) struct pair p = {0};
	struct matcher pod = {STR("pod"), MATCH_EQUAL, STR("pod-1"), NULL};
	struct matcher service = {STR("service_name"), MATCH_EQUAL, STR("api"), NULL};
	struct selection s = everything(STR(""));
	uint64_t state = 4;

	CHECK_OK(pair_open(&p, IN_FILES));
	CHECK_OK(send_both(p.memory.store, p.files.store, &state, 60));
	CHECK(labels_agree(p.memory.store, p.files.store, &state, false));
	s.matcher_count = 1;
	s.matchers = &pod;
	CHECK_OK(delete_both(&p, &s));
	for (int i = 0; i < 10; i++)
		CHECK(labels_agree(p.memory.store, p.files.store, &state, false));
	s.matchers = &service;
	CHECK_OK(delete_both(&p, &s));
	CHECK_OK(send_both(p.memory.store, p.files.store, &state, 5));
	for (int i = 0; i < 10; i++) {
		CHECK(labels_agree(p.memory.store, p.files.store, &state, false));
		CHECK(services_agree(p.files.store, &state));
	}
	CHECK_OK(pair_reopen(&p));
	for (int i = 0; i < 10; i++) {
		CHECK(labels_agree(p.memory.store, p.files.store, &state, false));
		CHECK(services_agree(p.files.store, &state));
	}
}

static enum err each_day_file(const struct fixture *f, const char *sql)
{
	for (int64_t day = MODEL_FROM / DAY; day <= MODEL_NOW / DAY + 1; day++) {
		char path[200], name[CLOCK_TEXT_SIZE];
		sqlite3 *db = NULL;
		int rc;

		clock_format(day * DAY, 0, name);
		snprintf(path, sizeof(path), "%s/acme/%.10s.db", f->directory, name);
		if (access(path, F_OK))
			continue;
		rc = sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL);
		if (!rc)
			rc = sqlite3_exec(db, sql, NULL, NULL, NULL);
		sqlite3_close(db);
		if (rc)
			return ERR_IO;
	}
	return ERR_OK;
}

/* After an upgrade, a lost row or damage, queries use the dictionaries. */
static void check_without(const char *sql, uint64_t seed)
{
	CLEANUP(pair_release) struct pair p = {0};
	uint64_t state = seed;

	CHECK_OK(pair_open(&p, IN_FILES));
	CHECK_OK(send_both(p.memory.store, p.files.store, &state, 40));
	store_close(p.files.store);
	p.files.store = NULL;
	CHECK_OK(each_day_file(&p.files, sql));
	CHECK_OK(pair_reopen(&p));
	CHECK(labels_agree(p.memory.store, p.files.store, &state, false));
	CHECK_OK(send_both(p.memory.store, p.files.store, &state, 10));
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < 8; i++) {
			CHECK(labels_agree(p.memory.store, p.files.store, &state, false));
			CHECK(services_agree(p.files.store, &state));
		}
		CHECK_OK(store_settle(p.files.store, round > 0, NULL));
		CHECK_OK(pair_reopen(&p));
	}
}

TEST(index_of_an_upgraded_file_comes_from_its_dictionaries)
{
	check_without("DELETE FROM series_index", 5);
}

TEST(index_rows_that_are_missing_come_from_the_dictionaries)
{
	check_without("DELETE FROM series_index WHERE id % 3 = 1", 6);
}

TEST(index_rows_that_are_damaged_come_from_the_dictionaries)
{
	check_without("UPDATE series_index SET data = zeroblob(20) WHERE id % 2 = 1", 7);
}

static void lose_connection(struct store *s)
{
	/* As after a crash: what was committed stands in the log. */
	store_close(s);
}

TEST(index_is_there_when_the_store_opens_again)
{
	CLEANUP(pair_release) struct pair p = {0};
	uint64_t state = 8;

	CHECK_OK(pair_open(&p, IN_FILES));
	for (int round = 0; round < 6; round++) {
		struct store_options o = fixture_options();

		CHECK_OK(send_both(p.memory.store, p.files.store, &state, 8));
		if (round % 2)
			CHECK(labels_agree(p.memory.store, p.files.store, &state, false));
		lose_connection(p.files.store);
		p.files.store = NULL;
		CHECK_OK(fixture_open(&p.files, &o));
		for (int i = 0; i < 4; i++)
			CHECK(labels_agree(p.memory.store, p.files.store, &state, false));
	}
}

/* ------------------------------------------------------------------ deltas */

static void free_partition(struct partition **p)
{
	partition_free(*p);
}

static enum err grow_partition(struct partition *p, unsigned from, unsigned until)
{
	for (unsigned i = from; i < until; i++) {
		char pod[20];
		struct label_pair labels[] = {{STR("pod"), {0}}, {STR("service_name"), STR("api")}};
		uint32_t series, type, label;

		snprintf(pod, sizeof(pod), "pod-%u", i);
		labels[0].value = str_of(pod);
		TRY(partition_series(p, labels, 2, NULL, &series, NULL));
		TRY(partition_type(p, i % 3 ? STR(MEASURED) : STR(HEAP), &type));
		TRY(partition_pair(p, series, type));
		if (i % 5 == 0)
			TRY(dict_label_text(&p->dict, STR("thread"), str_of(pod), &label));
	}
	return ERR_OK;
}

static enum err apply_all(struct str bytes)
{
	struct series_index x;
	enum err e = series_index_init(&x, 1);

	if (!e)
		e = series_delta_apply(&x, 1, bytes);
	series_index_release(&x);
	return e;
}

TEST(deltas_continue_each_other_and_nothing_else)
{
	CLEANUP(free_partition) struct partition *p = NULL;
	CLEANUP(buf_release) struct buf first = BUF_INIT(1 << 20);
	CLEANUP(buf_release) struct buf second = BUF_INIT(1 << 20);
	CLEANUP(series_index_release) struct series_index x = {0};
	struct series_mark begin = SERIES_MARK_BASE, middle, end;
	struct partition_mark mark;

	CHECK_OK(series_index_init(&x, 1));
	CHECK_OK(partition_new(STR("acme"), STR("api"), 1, 1, NULL, &p));
	CHECK_OK(grow_partition(p, 0, 40));
	mark = partition_mark(p);
	middle = series_mark_of(&mark);
	CHECK_OK(series_delta_encode(p, &begin, &middle, 0, &first));
	CHECK_OK(grow_partition(p, 40, 100));
	mark = partition_mark(p);
	end = series_mark_of(&mark);
	CHECK_OK(series_delta_encode(p, &middle, &end, 3, &second));
	CHECK_ERR(series_delta_apply(&x, 7, buf_view(&second)), ERR_CORRUPT);
	CHECK_OK(series_delta_apply(&x, 7, buf_view(&first)));
	CHECK_OK(series_delta_apply(&x, 7, buf_view(&first)));
	CHECK_INT(series_index_service(&x, 7)->series.n, 40);
	CHECK_OK(series_delta_apply(&x, 7, buf_view(&second)));
	CHECK_INT(series_index_service(&x, 7)->series.n, 100);
	CHECK(index_service_has_name(&x, series_index_service(&x, 7),
				     series_index_text(&x, STR("thread"))));
	CHECK(series_index_service(&x, 8) == NULL);
	CHECK(series_index_memory(&x) > 100 * sizeof(struct index_series));
	series_index_forget(&x, 7);
	CHECK_OK(series_delta_apply(&x, 7, buf_view(&first)));
	CHECK_INT(series_index_service(&x, 7)->series.n, 40);
	ALLOC_SWEEP(apply_all(buf_view(&first)));
}

/* The values of a name in order, as a list. */
static enum err put_values_of(struct series_index *x, const char *name, struct buf *out)
{
	const uint32_t *labels;
	size_t n;

	TRY(series_index_order(x));
	n = series_index_labels_of(x, series_index_text(x, str_of(name)), &labels);
	buf_clear(out);
	for (size_t i = 0; i < n; i++) {
		struct str value = x->texts.v[x->labels.v[labels[i]].value];

		buf_printf(out, "%.*s ", (int)value.n, value.p);
	}
	return buf_error(out);
}

static enum err add_label(struct series_index *x, const char *name, const char *value)
{
	struct index_label label;
	uint32_t ignored;

	TRY(series_index_add_text(x, str_of(value), &label.value));
	TRY(series_index_add_text(x, str_of(name), &label.name));
	return series_index_add_label(x, label, &ignored);
}

TEST(labels_that_come_later_are_sorted_in)
{
	CLEANUP(series_index_release) struct series_index x = {0};
	CLEANUP(buf_release) struct buf text = BUF_INIT(1 << 20);

	CHECK_OK(series_index_init(&x, 1));
	CHECK_OK(add_label(&x, "pod", "m"));
	CHECK_OK(put_values_of(&x, "pod", &text));
	CHECK_STR(buf_view(&text), "m ");
	CHECK_OK(add_label(&x, "zone", "b"));
	CHECK_OK(add_label(&x, "pod", "z"));
	CHECK_OK(add_label(&x, "pod", "a"));
	CHECK_OK(add_label(&x, "pod", "n"));
	CHECK_OK(add_label(&x, "node", "m"));
	CHECK_OK(put_values_of(&x, "pod", &text));
	CHECK_STR(buf_view(&text), "a m n z ");
	CHECK_OK(put_values_of(&x, "zone", &text));
	CHECK_STR(buf_view(&text), "b ");
	CHECK_OK(add_label(&x, "pod", ""));
	CHECK_OK(put_values_of(&x, "pod", &text));
	CHECK_STR(buf_view(&text), " a m n z ");
	CHECK_OK(put_values_of(&x, "node", &text));
	CHECK_STR(buf_view(&text), "m ");
}

TEST(damaged_deltas_are_refused)
{
	CLEANUP(free_partition) struct partition *p = NULL;
	CLEANUP(buf_release) struct buf bytes = BUF_INIT(1 << 20);
	struct series_mark begin = SERIES_MARK_BASE, end;
	struct partition_mark mark;

	CHECK_OK(partition_new(STR("acme"), STR("api"), 1, 1, NULL, &p));
	CHECK_OK(grow_partition(p, 0, 20));
	mark = partition_mark(p);
	end = series_mark_of(&mark);
	CHECK_OK(series_delta_encode(p, &begin, &end, 0, &bytes));
	for (size_t i = 0; i < bytes.n; i++) {
		bytes.data[i] ^= 0x41;
		CHECK(apply_all(buf_view(&bytes)) != ERR_OK);
		bytes.data[i] ^= 0x41;
		CHECK(apply_all(str_n(bytes.data, i)) != ERR_OK);
	}
	CHECK_OK(apply_all(buf_view(&bytes)));
}

/* ------------------------------------------------------------------ many services */

static enum err send_services(struct store *s, const char *tenant, unsigned from, unsigned until)
{
	static const struct str type = STR(MEASURED);
	struct store_batch *b;
	struct dict d;
	enum err e;

	TRY(store_batch_new(s, str_of(tenant), &b, NULL));
	e = dict_init(&d, store_seed(s));
	for (unsigned i = from; !e && i < until; i++) {
		struct label_pair label = {STR("service_name"), {0}};
		struct series_profile series = {.labels = &label,
						.label_count = 1,
						.types = &type,
						.time_ns = MODEL_NOW - 100 * SECOND,
						.duration_ns = 10 * SECOND};
		struct profile p;
		struct row row = {0};
		char name[30];
		int64_t value = 1 + i;

		snprintf(name, sizeof(name), "service-%06u", i);
		label.value = str_of(name);
		profile_init(&p, &d);
		e = profile_add_type(&p, STR("cpu"), STR("nanoseconds"));
		if (!e)
			e = model_stack(&d, "main;work", &row.stack);
		if (!e)
			e = profile_add(&p, &row, &value);
		series.profile = &p;
		if (!e)
			e = store_batch_add(b, &series, NULL);
		profile_release(&p);
	}
	dict_release(&d);
	if (e) {
		store_batch_abandon(b);
		return e;
	}
	return commit(b);
}

struct count {
	unsigned services;
	double total;
};

static enum err count_service(void *context, struct str service,
			      const struct series_answer *answers)
{
	struct count *c = context;

	(void)service;
	c->services++;
	for (size_t k = 0; k < answers[0].series[0].n; k++)
		if (!isnan(answers[0].series[0].points[k].value))
			c->total += answers[0].series[0].points[k].value;
	return ERR_OK;
}

/* However many services there are, nobody waits for a loop over them. */
TEST(no_loop_holds_everybody_up)
{
	CLEANUP(fixture_release) struct fixture f = {.kind = IN_FILES};
	const unsigned n = 6000;
	struct store_options o = fixture_options();
	struct services_question what = {.ranges = {{MODEL_NOW - 3600 * SECOND, MODEL_NOW}},
					 .range_count = 1,
					 .step_ns = 60 * SECOND};
	struct selection all = everything(STR(""));
	struct services_answer whole;
	struct count count = {0};
	struct store_stats stats;
	struct text_answer t;

	o.limits.max_series = 10 * n;
	o.dictionary_memory = (size_t)8 << 20; /* for a few hundred of them */
	OPEN_WITH(&f, &o);
	for (unsigned i = 0; i < n; i += 500)
		CHECK_OK(send_services(f.store, "acme", i, i + 500));
	CHECK_OK(store_label_names(f.store, STR("acme"), &all, NULL, &t));
	CHECK_INT(t.n, 1);
	arena_release(&t.arena);
	CHECK_OK(store_label_values(f.store, STR("acme"), STR("service_name"), &all, 0, NULL, &t));
	CHECK_INT(t.n, n);
	arena_release(&t.arena);
	CHECK_OK(store_services(f.store, STR("acme"), &all, &what, NULL, count_service, &count,
				&whole));
	arena_release(&whole.arena);
	CHECK_INT(count.services, n);
	CHECK_INT(count.total, (long long)n * (n + 1) / 2);
	CHECK_OK(store_stats(f.store, STR("acme"), &stats));
	CHECK_INT(stats.services, n);
	CHECK_INT(stats.fresh_chunks, n);
	CHECK_OK(store_settle(f.store, true, NULL));
	CHECK_OK(store_stats(f.store, STR("acme"), &stats));
	CHECK_INT(stats.fresh_chunks, 0);
	CHECK(stats.lock_steps <= 1000);
}
