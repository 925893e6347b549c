/*
 * What every engine must do: merging and selecting.
 */
#include "engine_fixture.h"

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
	struct question_text q = {.s = all_levels()};

	SEND_MODEL(f, 3, 300);
	CHECK(merge_agrees(f, "acme", &q));
	/* Both ends cut what a profile holds, and the first values come from before. */
	q.s.from_ns = MODEL_FROM + DAY / 2 + 4321 * NS_PER_S + 1;
	for (int i = 1; i < 8; i++) {
		q.s.until_ns = q.s.from_ns + i * 5003 * NS_PER_S;
		CHECK(merge_agrees(f, "acme", &q));
	}
	q.group_by = groups;
	for (q.group_count = 1; q.group_count <= 2; q.group_count++)
		CHECK(merge_agrees(f, "acme", &q));
}

/* An hour of one pod, measured every ten seconds, beside thirty pods of two minutes each. */
static void fill_comers_and_goers(struct model *m)
{
	static char names[30][4];
	static const char *const stays = "a";

	m->v = calloc(360 + 30 * 12, sizeof(*m->v));
	for (size_t i = 0; m->v && i < 360 + 30 * 12; i++) {
		size_t pod = (i - 360) / 12;
		struct model_profile *p = &m->v[m->n++];

		*p = (struct model_profile){
			.tenant = "acme", .service = "api", .pod = stays, .heap = true};
		p->time = MODEL_FROM + DAY / 2 + (int64_t)i * 10 * NS_PER_S;
		p->n = 1;
		p->rows[0] = (struct model_row){.value = 100};
		if (i < 360)
			continue;
		snprintf(names[pod], sizeof(names[0]), "p%zu", pod);
		p->pod = names[pod];
		p->time = MODEL_FROM + DAY / 2 + (int64_t)(i - 360) * 10 * NS_PER_S;
		p->rows[0] = (struct model_row){.stack = 1 + (unsigned)pod % 6, .value = 7};
	}
}

static double mean_of_line(struct fixture *f, const struct selection *s)
{
	struct series_question q = {.step_ns = (s->until_ns - s->from_ns) / 97 + 1};
	struct series_answer answer;
	double sum = 0, n = 0;

	if (store_series(f->store, STR("acme"), s, &q, NULL, &answer))
		return NAN;
	for (size_t i = 0; answer.n == 1 && i < answer.series[0].n; i++) {
		double covered = (double)answer.series[0].covered[i];

		n += covered;
		sum += covered > 0 ? answer.series[0].points[i].value * covered : 0;
	}
	arena_release(&answer.arena);
	return sum / n;
}

static double merged_total(struct fixture *f, const struct selection *s, const struct str *group_by)
{
	struct profile p;
	struct dict d;
	double total = NAN;

	if (dict_init(&d, store_seed(f->store)))
		return NAN;
	profile_init(&p, &d);
	if (!store_merge(f->store, STR("acme"), s, group_by, group_by != NULL, NULL, &p)) {
		total = 0;
		for (size_t i = 0; i < p.row_count; i++)
			total += (double)p.values[i];
	}
	profile_release(&p);
	dict_release(&d);
	return total;
}

ENGINE_TEST(a_gauge_that_comes_and_goes_counts_for_the_time_it_was_there)
{
	static const struct str pod = STR("pod");
	const int64_t ranges[] = {3600 * NS_PER_S, 1800 * NS_PER_S, DAY, 10 * DAY};
	struct selection s = everything(TYPE_HEAP);

	OPEN(f);
	fill_comers_and_goers(&f->model);
	CHECK_OK(send_model(f));
	s.from_ns = MODEL_FROM + DAY / 2;
	for (size_t i = 0; i < 4; i++) {
		s.until_ns = s.from_ns + ranges[i];
		double mean = mean_of_line(f, &s), total = merged_total(f, &s, NULL);

		/* 107 at any moment; in wider points more are there in one. */
		if (fabs(total - mean) > 1 || (i < 2 && fabs(total - 107) > 1))
			test_fail(__FILE__, __LINE__, "range %zu: %f, the time line has %f", i,
				  total, mean);
	}
	s.until_ns = s.from_ns + ranges[0];
	CHECK(fabs(merged_total(f, &s, &pod) - 107) < 1.5);
	for (size_t i = 0; i < 4; i++) {
		struct question_text q = {.s = s};

		q.s.until_ns = s.from_ns + ranges[i];
		CHECK(merge_agrees(f, "acme", &q));
	}
}

/* Levels that hold for five minutes, 55 or an hour: a roll-up of two of them does not say how long
 * which held. The range is longer than two days. */
static void fill_unequal(struct model *m)
{
	static const int64_t offsets_s[] = {0, 300, 3600};
	int64_t begin = MODEL_NOW - 60 * 3600 * NS_PER_S;

	begin -= begin % (3600 * NS_PER_S);
	m->v = calloc(90, sizeof(*m->v));
	for (size_t i = 0; m->v && i < 90; i++) {
		struct model_profile *p = &m->v[m->n++];
		int64_t offset = (int64_t)(i / 3) * 7200 + offsets_s[i % 3];

		*p = (struct model_profile){.tenant = "acme", .service = "api", .heap = true};
		p->time = begin + offset * NS_PER_S;
		p->n = 2;
		p->rows[0] = (struct model_row){.value = i % 3 ? 1000 : 999000};
		p->rows[1] = (struct model_row){.stack = 1, .value = 500000 + 977 * (int64_t)i};
	}
}

ENGINE_TEST(rows_of_a_gauge_are_exact_over_days)
{
	static const struct str service = STR("service_name");
	struct question_text q = {.s = everything(TYPE_HEAP)};

	OPEN(f);
	fill_unequal(&f->model);
	CHECK_OK(send_model(f));
	q.s.from_ns = f->model.v[0].time;
	for (int hours = 1; hours <= 61; hours += 4) {
		q.s.until_ns = q.s.from_ns + hours * 3600 * NS_PER_S;
		q.group_count = 0;
		CHECK(merge_agrees(f, "acme", &q));
		q.group_by = &service;
		q.group_count = 1;
		CHECK(merge_agrees(f, "acme", &q));
	}
}

/* Two that are looked at once in a while, in turns, were both there all the time. */
ENGINE_TEST(gauges_that_are_measured_in_turns_are_all_there)
{
	struct selection s = everything(TYPE_HEAP);

	OPEN(f);
	f->model.v = calloc(40, sizeof(*f->model.v));
	for (size_t i = 0; f->model.v && i < 40; i++) {
		struct model_profile *p = &f->model.v[f->model.n++];

		*p = (struct model_profile){
			.tenant = "acme", .service = "api", .pod = i % 2 ? "a" : "b", .heap = true};
		p->time = MODEL_FROM + DAY / 2 + (int64_t)i * 60 * NS_PER_S;
		p->n = 1;
		p->rows[0] = (struct model_row){.stack = (unsigned)i % 2, .value = 1000};
	}
	CHECK_OK(send_model(f));
	s.from_ns = MODEL_FROM + DAY / 2;
	s.until_ns = s.from_ns + 2400 * NS_PER_S;
	CHECK(fabs(merged_total(f, &s, NULL) - 2000) < 60);
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
		q.s = everything(TYPE_CPU);
		q.s.matchers = &matchers[i];
		q.s.matcher_count = 1;
		CHECK(merge_agrees(f, "acme", &q));
		q.s = all_levels();
		q.s.matchers = &matchers[i];
		q.s.matcher_count = 1;
		CHECK(merge_agrees(f, "acme", &q));
	}
	q.s = everything(TYPE_CPU);
	q.s.matchers = matchers + 5;
	q.s.matcher_count = 1;
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

ENGINE_TEST(selects_by_time)
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
	q.s = all_levels();
	CHECK(merge_agrees(f, "acme", &q));
}
