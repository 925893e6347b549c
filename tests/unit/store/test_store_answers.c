/*
 * What every engine must do: answers over time, and what there is to ask about.
 */
#include "engine_fixture.h"

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
		if (!function)
			sum += (double)model_total(p, 1, part.from_ns, part.until_ns);
		for (unsigned r = 0; function && r < p->n; r++)
			if (strstr(model_stacks[p->rows[r].stack], function))
				sum += model_part(p, &p->rows[r], part.from_ns, part.until_ns);
	}
	return sum;
}

/* The same of a gauge: its integral over the point, by the time in which there was any. */
static double model_level(const struct fixture *f, const struct model_levels *l, int64_t from,
			  int64_t until, const char *function, bool *ret_any)
{
	double all = model_any_held(&f->model, l, from, until), sum = 0;

	for (size_t i = 0; i < f->model.n; i++) {
		const struct model_profile *p = &f->model.v[i];

		for (unsigned r = 0; r < p->n; r++)
			if (!function || strstr(model_stacks[p->rows[r].stack], function))
				sum += (double)p->rows[r].value * model_held(&l->v[i], from, until);
	}
	*ret_any = all > 0;
	return all > 0 ? sum / all : 0;
}

static bool series_agrees(struct fixture *f, struct str type, const char *function)
{
	struct selection s = everything(type);
	struct series_question q = {.step_ns = 2700 * NS_PER_S, .function = str_of(function)};
	struct series_answer answer;
	struct model_levels *levels;
	bool agrees = true;

	s.from_ns = MODEL_FROM + DAY / 2 + 77 * NS_PER_S;
	s.until_ns = MODEL_NOW - 13 * NS_PER_S;
	levels = model_levels(&f->model, &s, "acme");
	if (!levels || store_series(f->store, STR("acme"), &s, &q, NULL, &answer))
		return false;
	agrees = answer.n == 1 && answer.series[0].n >= 32;
	for (size_t i = 0; agrees && i < answer.series[0].n; i++) {
		struct point point = answer.series[0].points[i];
		bool any;
		double expected = str_eq(type, TYPE_HEAP)
					  ? model_level(f, levels, point.time_ns,
							point.time_ns + q.step_ns, function, &any)
					  : model_point(f, &s, point.time_ns,
							point.time_ns + q.step_ns, function, &any);

		agrees = point.time_ns % q.step_ns == 0 &&
			 (any ? fabs(point.value - expected) <
					  (function ? 5 : 0) + 1e-6 * (1 + expected)
			      : isnan(point.value));
		if (!agrees)
			printf("# point %zu: %f, expected %f\n", i, point.value, expected);
	}
	free(levels);
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

/* The points of a type among those of every type. */
static bool among_all(const struct series_answer *all, struct str type,
		      const struct series_points *wanted)
{
	for (size_t i = 0; i < all->n; i++) {
		const struct series_points *s = &all->series[i];
		bool same = str_eq(s->type, type) &&
			    str_eq(s->labels[0].value, wanted->labels[0].value) &&
			    s->n == wanted->n;

		for (size_t k = 0; same && k < s->n; k++)
			same = s->points[k].time_ns == wanted->points[k].time_ns &&
			       (isnan(s->points[k].value)
					? isnan(wanted->points[k].value)
					: s->points[k].value == wanted->points[k].value);
		if (same)
			return true;
	}
	return false;
}

ENGINE_TEST(every_type_in_one_pass_has_what_each_has_by_itself)
{
	static const struct str types[] = {TYPE_SAMPLES, TYPE_CPU, TYPE_HEAP};
	static const struct str group = STR("service_name");
	struct selection s = everything(TYPE_SAMPLES);
	struct series_question q = {.step_ns = DAY / 4, .group_by = &group, .group_count = 1};
	struct series_answer all, one;
	size_t found = 0;

	SEND_MODEL(f, 12, 300);
	s.type = (struct str){0};
	q.each_type = true;
	CHECK_OK(store_series(f->store, STR("acme"), &s, &q, NULL, &all));
	q.each_type = false;
	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++) {
		s.type = types[i];
		CHECK_OK(store_series(f->store, STR("acme"), &s, &q, NULL, &one));
		CHECK(one.n > 0);
		for (size_t k = 0; k < one.n; k++, found++)
			CHECK(among_all(&all, types[i], &one.series[k]));
		arena_release(&one.arena);
	}
	/* The model has these types and no other. */
	CHECK_INT(found, all.n);
	arena_release(&all.arena);
}

ENGINE_TEST(services_of_all_times_are_those_that_were_sent)
{
	struct selection s = {.from_ns = 0, .until_ns = INT64_MAX};
	struct text_answer quick, slow;
	struct str gone;

	SEND_MODEL(f, 13, 200);
	CHECK_OK(store_label_values(f->store, STR("acme"), STR("service_name"), &s, 0, NULL,
				    &quick));
	/* A moment later nobody takes the short way. */
	s.from_ns = 1;
	CHECK_OK(
		store_label_values(f->store, STR("acme"), STR("service_name"), &s, 0, NULL, &slow));
	CHECK(quick.n > 1);
	CHECK_INT(quick.n, slow.n);
	for (size_t i = 0; i < quick.n && i < slow.n; i++)
		CHECK(str_eq(quick.v[i], slow.v[i]));
	arena_release(&slow.arena);
	/* What is deleted is not named any more. */
	gone = quick.v[0];
	struct matcher m = {.name = STR("service_name"), .op = MATCH_EQUAL, .value = gone};
	struct selection of = {
		.matchers = &m, .matcher_count = 1, .from_ns = 0, .until_ns = INT64_MAX};
	uint64_t profiles;

	CHECK_OK(store_delete(f->store, STR("acme"), &of, NULL, &profiles));
	CHECK(profiles > 0);
	s.from_ns = 0;
	CHECK_OK(
		store_label_values(f->store, STR("acme"), STR("service_name"), &s, 0, NULL, &slow));
	CHECK_INT(slow.n, quick.n - 1);
	for (size_t i = 0; i < slow.n; i++)
		CHECK(!str_eq(slow.v[i], gone));
	arena_release(&slow.arena);
	arena_release(&quick.arena);
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
	double cells = 0, values = 0, expected = 0, linked = 0, collecting = 0;
	uint64_t untimed = 0;

	SEND_MODEL(f, 12, 200);
	for (size_t i = 0; i < f->model.n; i++) {
		const struct model_profile *p = &f->model.v[i];

		for (unsigned r = 0; model_takes_profile(&s, "acme", p) && r < p->n; r++) {
			expected += (double)p->rows[r].value;
			linked += p->rows[r].link ? (double)p->rows[r].value : 0;
			if (p->rows[r].link && strstr(model_stacks[p->rows[r].stack], "gc"))
				collecting += (double)p->rows[r].value;
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
	CHECK_OK(store_exemplars(f->store, STR("acme"), &s,
				 &(struct exemplar_question){.by_span = false, .limit = 0}, NULL,
				 &exemplars));
	for (size_t i = 0; i < exemplars.n; i++)
		values += exemplars.v[i].value;
	arena_release(&exemplars.arena);
	CHECK_INT(values, expected);
	CHECK_OK(store_exemplars(f->store, STR("acme"), &s,
				 &(struct exemplar_question){.by_span = true, .limit = 0}, NULL,
				 &exemplars));
	values = 0;
	for (size_t i = 0; i < exemplars.n; i++)
		values += exemplars.v[i].value;
	arena_release(&exemplars.arena);
	CHECK_INT(values, linked);
	CHECK_OK(
		store_exemplars(f->store, STR("acme"), &s,
				&(struct exemplar_question){.by_span = true, .function = STR("gc")},
				NULL, &exemplars));
	values = 0;
	for (size_t i = 0; i < exemplars.n; i++) {
		CHECK(exemplars.v[i].value > 0);
		values += exemplars.v[i].value;
	}
	arena_release(&exemplars.arena);
	CHECK_INT(values, collecting);
	CHECK_OK(store_exemplars(f->store, STR("acme"), &s,
				 &(struct exemplar_question){.by_span = false, .limit = 5}, NULL,
				 &exemplars));
	CHECK_INT(exemplars.n, 5);
	CHECK(exemplars.v[0].time_ns <= exemplars.v[4].time_ns);
	arena_release(&exemplars.arena);
}

ENGINE_TEST(selects_rows_by_their_time)
{
	enum { SPANS = 4000 };
	struct selection s = everything(TYPE_SAMPLES);
	struct time_span *spans = mem_alloc(SPANS * sizeof(*spans));
	CLEANUP(dict_release) struct dict d = {0};
	CLEANUP(profile_release) struct profile p = {0};
	double expected = 0;

	CHECK(spans != NULL);
	SEND_MODEL(f, 12, 200);
	for (int i = 0; i < SPANS; i++) {
		spans[i].from_ns = MODEL_NOW - (SPANS - i) * 61 * NS_PER_S + NS_PER_S / 2;
		spans[i].until_ns = spans[i].from_ns + 20 * NS_PER_S;
	}
	s.times = spans;
	s.time_count = SPANS;
	for (size_t i = 0; i < f->model.n; i++) {
		const struct model_profile *m = &f->model.v[i];

		for (int k = 0; model_takes_profile(&s, "acme", m) && k < SPANS; k++)
			expected += (double)model_total(m, 1, spans[k].from_ns, spans[k].until_ns);
	}
	CHECK(expected > 0);
	CHECK_OK(dict_init(&d, store_seed(f->store)));
	profile_init(&p, &d);
	CHECK_OK(store_merge(f->store, STR("acme"), &s, NULL, 0, NULL, &p));
	CHECK_INT(profile_total(&p, 0), expected);
	mem_free(spans);
}

ENGINE_TEST(selects_profiles_by_the_ids_of_exemplars)
{
	struct selection s = everything(TYPE_SAMPLES), chosen;
	struct exemplar_answer all, some;
	uint64_t ids[2];

	SEND_MODEL(f, 12, 50);
	CHECK_OK(store_exemplars(f->store, STR("acme"), &s,
				 &(struct exemplar_question){.by_span = false, .limit = 0}, NULL,
				 &all));
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
		CHECK_OK(store_exemplars(f->store, STR("acme"), &chosen,
					 &(struct exemplar_question){.by_span = false, .limit = 0},
					 NULL, &some));
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

/* ------------------------------------------------------------------ how long was profiled */

ENGINE_TEST(coverage_and_groups_beyond_the_limit)
{
	static const struct str group = STR("pod");
	struct selection s = everything(TYPE_SAMPLES);
	struct series_question q = {.step_ns = DAY / 8, .group_by = &group, .group_count = 1};
	struct ask ask = {0};
	struct series_answer all, few;

	SEND_MODEL(f, 11, 200);
	CHECK_OK(store_series(f->store, STR("acme"), &s, &q, &ask, &all));
	CHECK(ask.covered_ns > 0 && ask.covered_ns < 2 * DAY);
	q.limit = 1;
	CHECK_OK(store_series(f->store, STR("acme"), &s, &q, &ask, &few));
	CHECK_INT(few.n, 2);
	CHECK(!few.series[0].other && few.series[1].other);
	CHECK_INT(few.series[1].label_count, 0);
	CHECK(few.series[1].covered_ns > 0);
	for (size_t i = 0; i < few.series[0].n; i++) {
		double sum = 0, rest = few.series[1].points[i].value;

		for (size_t k = 1; k < all.n; k++)
			sum += isnan(all.series[k].points[i].value) ? 0
								    : all.series[k].points[i].value;
		CHECK((isnan(rest) ? 0 : rest) == sum);
		CHECK(few.series[0].covered[i] <= q.step_ns);
	}
	arena_release(&all.arena);
	arena_release(&few.arena);
}
