/*
 * Values over time. Where whole profiles are selected their totals suffice, which stand in the
 * heads of chunks; rows are looked at only for labels of samples, links and functions.
 */
#include <math.h>
#include <stdlib.h>

#include "base/hash.h"
#include "store/call_site.h"
#include "store/presence.h"
#include "store/question.h"

#define MAX_POINTS 11000

/* One group and type; when means are asked for, of one series in it. */
struct curve {
	uint32_t group, series, type;
	double *sums; /* per point; NAN = nothing */
};

/* A type that was met; without each_type there is one. */
struct chart_type {
	struct str id;
	bool means;		/* over the profiles of a series, before series are summed */
	bool gauge;		/* a value holds until the next of its series */
	VEC(uint32_t *) counts; /* profiles per series and point */
};

struct charting {
	struct question q; /* first: handlers get it */
	const struct series_question *question;
	int64_t first_ns;
	size_t n; /* points */
	struct grouping grouping;
	struct series_numbers numbers;
	VEC(struct chart_type) types;
	VEC(struct curve) curves;
	struct map curve_index;
	struct call_site site;
	/* Of the partition at hand: the number of each of its types. */
	VEC(uint32_t) local;
};

static void charting_release(struct charting *c)
{
	vec_for_each (type, &c->types) {
		for (size_t i = 0; i < type->counts.n; i++)
			mem_free(type->counts.v[i]);
		vec_release(&type->counts);
	}
	for (size_t i = 0; i < c->curves.n; i++)
		mem_free(c->curves.v[i].sums);
	vec_release(&c->types);
	vec_release(&c->local);
	vec_release(&c->curves);
	map_release(&c->curve_index);
	grouping_release(&c->grouping);
	series_numbers_release(&c->numbers);
	call_site_release(&c->site);
	question_release(&c->q);
}

static enum err find_curve(struct charting *c, uint32_t group, uint32_t series, uint32_t type,
			   struct curve **ret)
{
	struct curve fresh = {.group = group, .series = series, .type = type};
	uint64_t hash = hash_mix((uint64_t)group << 32 | series, 1 + (uint64_t)type);

	MAP_PROBE(&c->curve_index, hash, id)
	{
		*ret = &c->curves.v[id];
		if ((*ret)->group == group && (*ret)->series == series && (*ret)->type == type)
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

/* Where a value belongs: type, series and point of the chunk at hand. */
struct place {
	uint32_t type, series;
	size_t point;
};

static enum err count_profiles(struct charting *c, struct place at, uint32_t profiles)
{
	struct chart_type *type = &c->types.v[at.type];

	while (type->counts.n <= at.series) {
		uint32_t *counts = NULL;

		TRY(vec_reserve(&type->counts, 1));
		TRY(question_array(&c->q, c->n, sizeof(*counts), &counts));
		type->counts.v[type->counts.n++] = counts;
	}
	type->counts.v[at.series][at.point] += profiles;
	return ERR_OK;
}

static enum err add_value(struct charting *c, uint32_t group, struct place at, double value)
{
	struct curve *curve;
	double *sum;

	TRY(find_curve(c, group, at.series, at.type, &curve));
	sum = &curve->sums[at.point];
	*sum = isnan(*sum) ? value : *sum + value;
	return ERR_OK;
}

/* A value of the whole profile. */
static enum err add_whole(struct charting *c, const struct chunk_view *v, struct place at,
			  double value)
{
	uint32_t group;

	TRY(grouping_find(&c->grouping, &c->q, v->head.series, 0, &group));
	return add_value(c, group, at, value);
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
			 const struct chunk_column *column, struct place at)
{
	struct chunk_rows_read rows;
	enum err e = ERR_OK;

	if (!call_site_is_all(&c->site))
		TRY(call_site_look(&c->site, &c->q, v->head.stack_limit));
	TRY(question_rows(&c->q, v, column, &rows));
	/* A profile without rows was measured all the same. */
	if (!rows.group_count && question_takes_all(&c->q, v))
		e = add_whole(c, v, at, 0);
	for (uint32_t g = 0; !e && g < rows.group_count; g++) {
		uint32_t group;

		e = grouping_find(&c->grouping, &c->q, v->head.series, rows.groups[g].labels,
				  &group);
		if (!e)
			e = add_value(c, group, at, sum_rows(c, &rows, &rows.groups[g]));
	}
	chunk_rows_release(&rows);
	return e;
}

static enum err chart_chunk(struct question *q, const struct chunk_view *v,
			    const struct chunk_column *column)
{
	struct charting *c = (struct charting *)q;
	struct place at = {
		.type = c->local.v[column->type],
		.point = (size_t)((v->head.time_ns - c->first_ns) / c->question->step_ns)};
	bool means = c->types.v[at.type].means;

	if (v->head.time_ns < c->first_ns || at.point >= c->n)
		return ERR_OK;
	TRY(series_numbers_find(&c->numbers, q, means ? v->head.series : SERIES_MANY, &at.series));
	if (means)
		TRY(count_profiles(c, at, v->head.profiles));
	if (!call_site_is_all(&c->site) || !question_takes_all(q, v) ||
	    (c->grouping.name_count && v->head.flags & CHUNK_GROUPS))
		return add_rows(c, v, column, at);
	return add_whole(c, v, at, (double)column->total);
}

static enum err number_type(struct charting *c, const struct type_entry *type, uint32_t *ret)
{
	struct chart_type fresh = {.means = c->question->average ||
					    (type->gauge && !c->question->force_sum),
				   .gauge = type->gauge && !c->question->force_sum};

	for (size_t i = 0; i < c->types.n; i++)
		if (str_eq(c->types.v[i].id, type->id)) {
			*ret = (uint32_t)i;
			return ERR_OK;
		}
	fresh.id = arena_str(&c->q.arena, type->id);
	if (!fresh.id.p)
		return ERR_NO_MEMORY;
	*ret = (uint32_t)c->types.n;
	return vec_push(&c->types, fresh);
}

/* With the partition's lock. */
static enum err number_types(struct charting *c)
{
	const struct question *q = &c->q;

	c->local.n = 0;
	for (uint32_t t = 0; t < q->choice.type_count; t++) {
		uint32_t number = 0;

		if (choice_has_type(&q->choice, t))
			TRY(number_type(c, &q->partition->types.v[t], &number));
		TRY(vec_push(&c->local, number));
	}
	return ERR_OK;
}

static enum err begin_partition(struct question *q)
{
	struct charting *c = (struct charting *)q;
	enum err e;

	grouping_begin(&c->grouping);
	call_site_begin(&c->site);
	mutex_lock(&q->partition->lock);
	e = number_types(c);
	mutex_unlock(&q->partition->lock);
	return e;
}

/* The points whose values are those of a curve. */
static void find_holders(const struct charting *c, const struct curve *curve, uint32_t *ret_from)
{
	const struct chart_type *type = &c->types.v[curve->type];

	if (type->gauge)
		presence_hold(type->counts.v[curve->series], c->n, ret_from);
	for (size_t i = 0; !type->gauge && i < c->n; i++)
		ret_from[i] = (uint32_t)i;
}

/* `from` has room for all points. */
static void add_curve(const struct charting *c, const struct curve *curve, uint32_t *from,
		      struct point *points)
{
	const struct chart_type *type = &c->types.v[curve->type];

	find_holders(c, curve, from);
	for (size_t i = 0; i < c->n; i++) {
		double value = from[i] < c->n ? curve->sums[from[i]] : NAN;

		if (isnan(value))
			continue;
		if (type->means)
			value /= type->counts.v[curve->series][from[i]];
		points[i].value = isnan(points[i].value) ? value : points[i].value + value;
	}
}

static enum err new_points(struct charting *c, struct series_answer *ret,
			   struct series_points *series)
{
	struct point *points;

	TRY(question_take(&c->q, c->n * sizeof(*points)));
	points = arena_zalloc(&ret->arena, c->n + 1, sizeof(*points));
	if (!points)
		return ERR_NO_MEMORY;
	for (size_t i = 0; i < c->n; i++)
		points[i] = (struct point){c->first_ns + (int64_t)i * c->question->step_ns, NAN};
	series->points = points;
	series->n = c->n;
	return ERR_OK;
}

static enum err name_series(const struct label_tuple *tuple, struct series_answer *ret,
			    struct series_points *series)
{
	struct label_pair *labels = arena_zalloc(&ret->arena, tuple->n + 1, sizeof(*labels));

	if (!labels)
		return ERR_NO_MEMORY;
	for (size_t i = 0; i < tuple->n; i++) {
		labels[i].name = arena_str(&ret->arena, tuple->labels[i].name);
		labels[i].value = arena_str(&ret->arena, tuple->labels[i].value);
		if (!labels[i].name.p || !labels[i].value.p)
			return ERR_NO_MEMORY;
	}
	series->labels = labels;
	series->label_count = tuple->n;
	return ERR_OK;
}

/* A series for every group and type that has a curve. */
static enum err make_points(struct charting *c, struct series_answer *ret)
{
	size_t types = c->types.n, most = c->grouping.groups.n * types;
	uint32_t *from = arena_zalloc(&c->q.arena, c->n + 1, sizeof(*from));
	struct series_points **made;

	ret->series = arena_zalloc(&ret->arena, c->curves.n + 1, sizeof(*ret->series));
	made = arena_zalloc(&c->q.arena, most + 1, sizeof(struct series_points *));
	if (!ret->series || !made || !from)
		return ERR_NO_MEMORY;
	vec_for_each (curve, &c->curves) {
		struct series_points **series = &made[curve->group * types + curve->type];

		if (!*series) {
			*series = &ret->series[ret->n++];
			TRY(new_points(c, ret, *series));
			TRY(name_series(&c->grouping.groups.v[curve->group], ret, *series));
			if (c->question->each_type) {
				(*series)->type =
					arena_str(&ret->arena, c->types.v[curve->type].id);
				if (!(*series)->type.p)
					return ERR_NO_MEMORY;
			}
		}
		add_curve(c, curve, from, (*series)->points);
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
	if (!str_eq(a->type, b->type))
		return str_cmp(a->type, b->type);
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
	c->site.late = question->late;
	c->site.late_count = question->late_count;
	c->q.rollup_ns = grouping_fits_rollups(&c->grouping) ? step : 0;
	return ERR_OK;
}

static enum err finish(struct charting *c, struct series_answer *ret)
{
	TRY(make_points(c, ret));
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
	c.q.each_type = question->each_type;
	TRY(begin(&c));
	TRY(question_run(&c.q, &handler));
	e = finish(&c, &answer);
	if (e)
		arena_release(&answer.arena);
	else
		*ret = answer;
	return e;
}
