#include "store/charting.h"

#include <math.h>
#include <stdlib.h>

#include "store/gauge_hold.h"

static enum err new_points(struct charting *c, struct series_answer *ret,
			   struct series_points *series)
{
	struct point *points;

	TRY(question_take(&c->q, c->n * sizeof(*points)));
	points = arena_zalloc(&ret->arena, c->n + 1, sizeof(*points));
	if (!points)
		return ERR_NO_MEMORY;
	for (size_t i = 0; i < c->n; i++)
		points[i] = (struct point){c->first_ns + (int64_t)i * c->step_ns, NAN, 0};
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

static void add_to_point(struct point *p, double value)
{
	p->value = isnan(p->value) ? value : p->value + value;
}

static void add_sum(struct point *p, int64_t sum)
{
	p->sum = isnan(p->value) ? sum : add_saturating(p->sum, sum);
	p->value = (double)p->sum;
}

static void add_curve(const struct charting *c, const struct curve *curve, struct made_series *made)
{
	const struct chart_type *type = &c->types.v[curve->type];
	const __int128 *held = type->gauge ? c->levels.curves.v[curve->level].held : NULL;

	for (size_t i = 0; i < c->n; i++) {
		struct point *p = &made->points.points[i];

		/* finish_levels makes means of these; the doubles are for the order of series. */
		if (held) {
			add_to_point(p, (double)held[i]);
			made->points_held[i] += held[i];
			made->held += held[i];
		} else if (curve->sums[i] != NOTHING && type->means) {
			add_to_point(p, (double)curve->sums[i] / type->counts.v[curve->series][i]);
		} else if (curve->sums[i] != NOTHING) {
			add_sum(p, curve->sums[i]);
		}
	}
}

/* A gauge is averaged over the time in which it was present. */
static void finish_levels(const struct charting *c, struct made_series *made)
{
	struct series_points *s = &made->points;

	s->whole = s->covered_ns > 0;
	s->total = s->whole ? held_mean(made->held, s->covered_ns) : 0;
	for (size_t i = 0; i < c->n; i++) {
		struct point *p = &s->points[i];

		if (s->covered[i] <= 0)
			p->value = NAN;
		else
			p->value = (double)made->points_held[i] / (double)s->covered[i];
	}
}

/* A covered point without a value is 0. */
static void finish_sums(struct series_points *s)
{
	for (size_t i = 0; i < s->n; i++) {
		if (isnan(s->points[i].value) && s->covered[i] > 0)
			s->points[i].value = 0;
		s->total = add_saturating(s->total, s->points[i].sum);
	}
	s->whole = s->covered_ns > 0 || s->total;
}

static void finish_total(const struct charting *c, struct made_series *made)
{
	const struct chart_type *type = &c->types.v[made->type];

	if (type->gauge)
		finish_levels(c, made);
	else if (!type->means)
		finish_sums(&made->points);
}

static enum err begin_series(struct charting *c, struct series_answer *ret, uint32_t group,
			     uint32_t type, struct made_series *made)
{
	made->group = group;
	made->type = type;
	TRY(new_points(c, ret, &made->points));
	if (c->types.v[type].gauge) {
		TRY(question_take(&c->q, c->n * sizeof(*made->points_held)));
		made->points_held = arena_zalloc(&c->q.arena, c->n + 1, sizeof(*made->points_held));
		if (!made->points_held)
			return ERR_NO_MEMORY;
	}
	if (!c->question->each_type)
		return ERR_OK;
	made->points.type = arena_str(&ret->arena, c->types.v[type].id);
	return made->points.type.p ? ERR_OK : ERR_NO_MEMORY;
}

static enum err need_series(struct charting *c, struct series_answer *ret, struct made_list *list,
			    uint32_t group, uint32_t type, struct made_series **made)
{
	if (*made)
		return ERR_OK;
	*made = &list->v[list->n++];
	TRY(begin_series(c, ret, group, type, *made));
	return name_series(&c->grouping.groups.v[group], ret, &(*made)->points);
}

/* Creates a series for every group and type with a curve; `of` has its address. */
static enum err make_series(struct charting *c, struct series_answer *ret, struct made_series **of,
			    struct made_list *list)
{
	vec_for_each (curve, &c->curves) {
		struct made_series **made = &of[curve->group * c->types.n + curve->type];

		TRY(need_series(c, ret, list, curve->group, curve->type, made));
		add_curve(c, curve, *made);
	}
	/* Covered time in which nothing was selected counts as 0, not as unknown. */
	vec_for_each (member, &c->members) {
		uint32_t type = c->coverage.lines.v[member->line].type;

		if (grouping_fits_rollups(&c->grouping))
			TRY(need_series(c, ret, list, member->group, type,
					&of[member->group * c->types.n + type]));
	}
	return ERR_OK;
}

static double points_total(const struct series_points *s)
{
	double total = 0;

	for (size_t i = 0; i < s->n; i++)
		total += isnan(s->points[i].value) ? 0 : s->points[i].value;
	return total;
}

/* The largest first; then by labels, so that the order does not depend on chance. */
static int compare_series(const void *left, const void *right)
{
	const struct made_series *x = left, *y = right;
	const struct series_points *a = &x->points, *b = &y->points;

	if (x->total != y->total)
		return x->total > y->total ? -1 : 1;
	for (size_t i = 0; i < a->label_count && i < b->label_count; i++) {
		int order = str_cmp(a->labels[i].value, b->labels[i].value);

		if (order)
			return order;
	}
	if (!str_eq(a->type, b->type))
		return str_cmp(a->type, b->type);
	return (a->label_count > b->label_count) - (a->label_count < b->label_count);
}

static void add_points(const struct charting *c, struct made_series *to,
		       const struct made_series *from)
{
	const struct chart_type *type = &c->types.v[to->type];

	to->held += from->held;
	for (size_t i = 0; i < to->points.n; i++) {
		const struct point *p = &from->points.points[i];

		if (type->gauge)
			to->points_held[i] += from->points_held[i];
		if (isnan(p->value))
			continue;
		if (type->gauge || type->means)
			add_to_point(&to->points.points[i], p->value);
		else
			add_sum(&to->points.points[i], p->sum);
	}
}

/* Sums the series beyond the limit in one more series per type, so that totals do not change. */
static enum err sum_rest(struct charting *c, struct series_answer *ret, struct made_list *list)
{
	size_t limit = c->question->limit, n = 0;
	struct made_series *others;

	if (!limit || list->n <= limit)
		return ERR_OK;
	others = arena_zalloc(&c->q.arena, c->types.n, sizeof(*others));
	if (!others)
		return ERR_NO_MEMORY;
	for (size_t i = limit; i < list->n; i++) {
		struct made_series *other = NULL;

		for (size_t k = 0; k < n; k++)
			if (others[k].type == list->v[i].type)
				other = &others[k];
		if (!other) {
			other = &others[n++];
			TRY(begin_series(c, ret, 0, list->v[i].type, other));
			other->points.other = true;
			TRY(charting_unite_lines(c, list, limit, other));
		}
		add_points(c, other, &list->v[i]);
	}
	memcpy(list->v + limit, others, n * sizeof(*others));
	list->n = limit + n;
	return ERR_OK;
}

enum err charting_finish(struct charting *c, struct series_answer *ret)
{
	struct made_list list = {0};
	struct made_series **of = arena_zalloc(&c->q.arena, c->grouping.groups.n * c->types.n + 1,
					       sizeof(struct made_series *));

	/* One per curve, one per coverage line without a curve, and `other` per type. */
	list.v = arena_zalloc(&c->q.arena, c->curves.n + c->members.n + 2 * c->types.n + 1,
			      sizeof(*list.v));
	if (!of || !list.v)
		return ERR_NO_MEMORY;
	TRY(coverage_finish(&c->coverage, &c->q));
	TRY(gauge_lines_finish(&c->levels, &c->q, &c->coverage));
	TRY(make_series(c, ret, of, &list));
	TRY(charting_give_lines(c, of));
	for (size_t i = 0; i < list.n; i++)
		list.v[i].total = points_total(&list.v[i].points);
	if (list.n)
		qsort(list.v, list.n, sizeof(*list.v), compare_series);
	TRY(sum_rest(c, ret, &list));
	ret->series = arena_zalloc(&ret->arena, list.n + 1, sizeof(*ret->series));
	if (!ret->series)
		return ERR_NO_MEMORY;
	for (size_t i = 0; i < list.n; i++) {
		TRY(charting_measure(c, ret, &list.v[i]));
		finish_total(c, &list.v[i]);
		ret->series[ret->n++] = list.v[i].points;
	}
	return c->wholes ? charting_add_to_wholes(c, &list) : charting_measure_all(c);
}
