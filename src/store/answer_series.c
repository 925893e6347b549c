/*
 * Values over time. Where whole profiles are selected their totals suffice, which stand in the
 * heads of chunks; rows are looked at only for labels of samples, links and functions.
 */
#include <math.h>
#include <stdlib.h>

#include "base/hash.h"
#include "store/call_site.h"
#include "store/question.h"

#define MAX_POINTS 11000

/* One group; when means are asked for, of one series in it. */
struct curve {
	uint32_t group, series;
	double *sums; /* per point; NAN = nothing */
};

struct charting {
	struct question q; /* first: handlers get it */
	const struct series_question *question;
	bool means; /* over the profiles of a series, before series are summed */
	int64_t first_ns;
	size_t n; /* points */
	struct grouping grouping;
	struct series_numbers numbers;
	VEC(uint32_t *) counts; /* profiles per series and point */
	VEC(struct curve) curves;
	struct map curve_index;
	struct call_site site;
};

static void charting_release(struct charting *c)
{
	for (size_t i = 0; i < c->counts.n; i++)
		mem_free(c->counts.v[i]);
	for (size_t i = 0; i < c->curves.n; i++)
		mem_free(c->curves.v[i].sums);
	vec_release(&c->counts);
	vec_release(&c->curves);
	map_release(&c->curve_index);
	grouping_release(&c->grouping);
	series_numbers_release(&c->numbers);
	call_site_release(&c->site);
	question_release(&c->q);
}

static enum err find_curve(struct charting *c, uint32_t group, uint32_t series, struct curve **ret)
{
	struct curve fresh = {.group = group, .series = series};
	uint64_t hash = hash_mix((uint64_t)group << 32 | series, 1);

	MAP_PROBE(&c->curve_index, hash, id)
	{
		*ret = &c->curves.v[id];
		if ((*ret)->group == group && (*ret)->series == series)
			return ERR_OK;
	}
	TRY(vec_reserve(&c->curves, 1));
	TRY(question_array(&c->q, c->n, sizeof(*fresh.sums), &fresh.sums));
	for (size_t i = 0; i < c->n; i++)
		fresh.sums[i] = NAN;
	c->curves.v[c->curves.n++] = fresh;
	*ret = &c->curves.v[c->curves.n - 1];
	return map_put(&c->curve_index, hash, (uint32_t)c->curves.n - 1);
}

static enum err count_profiles(struct charting *c, uint32_t series, size_t point, uint32_t profiles)
{
	while (c->counts.n <= series) {
		uint32_t *counts = NULL;

		TRY(vec_reserve(&c->counts, 1));
		TRY(question_array(&c->q, c->n, sizeof(*counts), &counts));
		c->counts.v[c->counts.n++] = counts;
	}
	c->counts.v[series][point] += profiles;
	return ERR_OK;
}

static enum err add_value(struct charting *c, uint32_t group, uint32_t series, size_t point,
			  double value)
{
	struct curve *curve;

	TRY(find_curve(c, group, series, &curve));
	curve->sums[point] = isnan(curve->sums[point]) ? value : curve->sums[point] + value;
	return ERR_OK;
}

/* A value of the whole profile. */
static enum err add_whole(struct charting *c, const struct chunk_view *v, uint32_t series,
			  size_t point, double value)
{
	uint32_t group;

	TRY(grouping_find(&c->grouping, &c->q, v->head.series, 0, &group));
	return add_value(c, group, series, point, value);
}

static double sum_rows(const struct charting *c, const struct chunk_rows_read *r,
		       const struct chunk_group *group)
{
	bool all = call_site_is_all(&c->site);
	double sum = 0;

	for (uint32_t i = group->first; i < group->first + group->n; i++)
		if (all || c->site.takes.v[r->stacks[i]])
			sum += (double)r->values[i];
	return sum;
}

static enum err add_rows(struct charting *c, const struct chunk_view *v,
			 const struct chunk_column *column, uint32_t series, size_t point)
{
	struct chunk_rows_read rows;
	enum err e = ERR_OK;

	if (!call_site_is_all(&c->site))
		TRY(call_site_look(&c->site, &c->q, v->head.stack_limit));
	TRY(question_rows(&c->q, v, column, &rows));
	/* A profile without rows was measured all the same. */
	if (!rows.group_count && question_takes_all(&c->q, v))
		e = add_whole(c, v, series, point, 0);
	for (uint32_t g = 0; !e && g < rows.group_count; g++) {
		uint32_t group;

		e = grouping_find(&c->grouping, &c->q, v->head.series, rows.groups[g].labels,
				  &group);
		if (!e)
			e = add_value(c, group, series, point, sum_rows(c, &rows, &rows.groups[g]));
	}
	chunk_rows_release(&rows);
	return e;
}

static enum err chart_chunk(struct question *q, const struct chunk_view *v,
			    const struct chunk_column *column)
{
	struct charting *c = (struct charting *)q;
	size_t point = (size_t)((v->head.time_ns - c->first_ns) / c->question->step_ns);
	uint32_t series;

	if (v->head.time_ns < c->first_ns || point >= c->n)
		return ERR_OK;
	TRY(series_numbers_find(&c->numbers, q, c->means ? v->head.series : SERIES_MANY, &series));
	TRY(count_profiles(c, series, point, v->head.profiles));
	if (!call_site_is_all(&c->site) || !question_takes_all(q, v) ||
	    (c->grouping.name_count && v->head.flags & CHUNK_GROUPS))
		return add_rows(c, v, column, series, point);
	return add_whole(c, v, series, point, (double)column->total);
}

static enum err begin_partition(struct question *q)
{
	struct charting *c = (struct charting *)q;

	grouping_begin(&c->grouping);
	call_site_begin(&c->site);
	c->means = c->question->average || (q->gauge && !c->question->force_sum);
	return ERR_OK;
}

static void add_curve(const struct charting *c, const struct curve *curve, struct point *points)
{
	for (size_t i = 0; i < c->n; i++) {
		double value = curve->sums[i];

		if (isnan(value))
			continue;
		if (c->means)
			value /= c->counts.v[curve->series][i];
		points[i].value = isnan(points[i].value) ? value : points[i].value + value;
	}
}

static enum err make_points(struct charting *c, struct series_answer *ret)
{
	size_t groups = c->grouping.groups.n;

	TRY(question_take(&c->q, groups * c->n * sizeof(struct point)));
	ret->series = arena_zalloc(&ret->arena, groups + 1, sizeof(*ret->series));
	if (!ret->series)
		return ERR_NO_MEMORY;
	for (size_t g = 0; g < groups; g++) {
		struct point *points = arena_zalloc(&ret->arena, c->n + 1, sizeof(*points));

		if (!points)
			return ERR_NO_MEMORY;
		for (size_t i = 0; i < c->n; i++)
			points[i] = (struct point){c->first_ns + (int64_t)i * c->question->step_ns,
						   NAN};
		ret->series[g] = (struct series_points){.points = points, .n = c->n};
	}
	for (size_t i = 0; i < c->curves.n; i++)
		add_curve(c, &c->curves.v[i], ret->series[c->curves.v[i].group].points);
	ret->n = groups;
	return ERR_OK;
}

static enum err name_series(struct charting *c, struct series_answer *ret)
{
	for (size_t g = 0; g < ret->n; g++) {
		const struct label_tuple *tuple = &c->grouping.groups.v[g];
		struct label_pair *labels =
			arena_zalloc(&ret->arena, tuple->n + 1, sizeof(*labels));

		if (!labels)
			return ERR_NO_MEMORY;
		for (size_t i = 0; i < tuple->n; i++) {
			labels[i].name = arena_str(&ret->arena, tuple->labels[i].name);
			labels[i].value = arena_str(&ret->arena, tuple->labels[i].value);
			if (!labels[i].name.p || !labels[i].value.p)
				return ERR_NO_MEMORY;
		}
		ret->series[g].labels = labels;
		ret->series[g].label_count = tuple->n;
	}
	return ERR_OK;
}

static double curve_total(const struct series_points *s)
{
	double total = 0;

	for (size_t i = 0; i < s->n; i++)
		total += isnan(s->points[i].value) ? 0 : s->points[i].value;
	return total;
}

/* The largest first; then by labels, so that the order does not depend on chance. */
static int compare_series(const void *left, const void *right)
{
	const struct series_points *a = left, *b = right;
	double x = curve_total(a), y = curve_total(b);

	if (x != y)
		return x > y ? -1 : 1;
	for (size_t i = 0; i < a->label_count && i < b->label_count; i++) {
		int order = str_cmp(a->labels[i].value, b->labels[i].value);

		if (order)
			return order;
	}
	return (a->label_count > b->label_count) - (a->label_count < b->label_count);
}

static enum err begin(struct charting *c)
{
	const struct selection *s = c->q.selection;
	const struct series_question *question = c->question;
	int64_t step = question->step_ns, rest;
	uint64_t points;

	if (step <= 0 || s->until_ns <= s->from_ns)
		return fault_set(c->q.ask->fault, ERR_BAD_ARGUMENT,
				 "the step and the time range must not be empty");
	rest = s->from_ns % step;
	c->first_ns = s->from_ns - rest - (rest < 0 ? step : 0);
	points = ((uint64_t)s->until_ns - (uint64_t)c->first_ns + (uint64_t)step - 1) /
		 (uint64_t)step;
	if (points > MAX_POINTS)
		return fault_set(c->q.ask->fault, ERR_BAD_ARGUMENT,
				 "the step is too small: more than %d points", MAX_POINTS);
	c->n = (size_t)points;
	c->grouping.names = question->group_by;
	c->grouping.name_count = question->group_count;
	c->site.path = question->call_site;
	c->site.path_count = question->call_site_count;
	c->site.function = question->function;
	c->site.self = question->function_self;
	c->q.rollup_ns = grouping_fits_rollups(&c->grouping) ? step : 0;
	return ERR_OK;
}

static enum err finish(struct charting *c, struct series_answer *ret)
{
	TRY(make_points(c, ret));
	TRY(name_series(c, ret));
	if (ret->n)
		qsort(ret->series, ret->n, sizeof(*ret->series), compare_series);
	if (c->question->limit && ret->n > c->question->limit)
		ret->n = c->question->limit;
	return ERR_OK;
}

enum err answer_series(const struct source *source, struct str tenant,
		       const struct selection *selection, const struct series_question *question,
		       struct ask *ask, struct series_answer *ret)
{
	static const struct question_handler handler = {begin_partition, chart_chunk, NULL};
	CLEANUP(charting_release) struct charting c = {.question = question};
	struct series_answer answer = {0};
	enum err e;

	question_init(&c.q, source, tenant, selection, ask);
	TRY(begin(&c));
	TRY(question_run(&c.q, &handler));
	e = finish(&c, &answer);
	if (e)
		arena_release(&answer.arena);
	else
		*ret = answer;
	return e;
}
