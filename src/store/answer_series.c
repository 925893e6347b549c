/*
 * Values over time. Where whole profiles are selected their totals suffice, which stand in the
 * heads of chunks; rows are looked at only for labels of samples, links and functions.
 */
#include <math.h>
#include <stdlib.h>

#include "base/hash.h"
#include "store/answer_services.h"
#include "store/call_site.h"
#include "store/coverage.h"
#include "store/gauge_hold.h"
#include "store/gauge_line.h"
#include "store/question.h"

#define MAX_POINTS 11000
/* A sum without a value. */
#define NOTHING	   INT64_MIN

/* One group and type; when means are asked for, of one series in it. */
struct curve {
	uint32_t group, series, type;
	int64_t *sums;	/* per point, or NOTHING; NULL for a gauge */
	uint32_t level; /* of a gauge: among the curves of gauges */
};

/* A series is in a group: its line of the coverage. */
struct member {
	uint32_t group, line;
};

/* Of a line of the coverage: the group of its series' own labels, and which of the grouped labels
 * (bits) samples beside it may have. */
struct line_labels {
	uint32_t own;
	uint64_t open;
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
	struct coverage coverage;
	struct gauge_lines levels;
	VEC(struct member) members;
	struct map member_index;
	VEC(struct line_labels) line_labels;
	VEC(bool) of_samples; /* by group: found by labels of samples */
	VEC(uint32_t) lines;  /* of the series that is measured */
	uint64_t open;	      /* struct line_labels, in the current partition */
	struct call_site site;
	struct whole_list *wholes; /* or NULL: of more than this answer */
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
	map_release(&c->member_index);
	vec_release(&c->members);
	vec_release(&c->line_labels);
	vec_release(&c->of_samples);
	vec_release(&c->lines);
	coverage_release(&c->coverage);
	gauge_lines_release(&c->levels);
	grouping_release(&c->grouping);
	series_numbers_release(&c->numbers);
	call_site_release(&c->site);
	question_release(&c->q);
}

/* Where a value belongs: type, series and point of the chunk at hand. */
struct place {
	uint32_t type, series, line;
	size_t point;
};

static enum err new_curve(struct charting *c, const struct place *at, struct curve *fresh)
{
	if (c->types.v[at->type].gauge)
		return gauge_lines_curve(&c->levels, &c->q, &c->coverage, at->line, &fresh->level);
	TRY(question_array(&c->q, c->n, sizeof(*fresh->sums), &fresh->sums));
	for (size_t i = 0; i < c->n; i++)
		fresh->sums[i] = NOTHING;
	return ERR_OK;
}

static enum err find_curve(struct charting *c, uint32_t group, const struct place *at,
			   struct curve **ret)
{
	struct curve fresh = {.group = group, .series = at->series, .type = at->type};
	uint64_t hash = hash_mix((uint64_t)group << 32 | at->series, 1 + (uint64_t)at->type);

	MAP_PROBE(&c->curve_index, hash, id)
	{
		*ret = &c->curves.v[id];
		if ((*ret)->group == group && (*ret)->series == at->series &&
		    (*ret)->type == at->type)
			return ERR_OK;
	}
	TRY(vec_reserve(&c->curves, 1));
	TRY(new_curve(c, at, &fresh));
	c->curves.v[c->curves.n++] = fresh;
	*ret = &c->curves.v[c->curves.n - 1];
	return map_put(&c->curve_index, hash, (uint32_t)c->curves.n - 1);
}

static enum err join_group(struct charting *c, uint32_t group, uint32_t line)
{
	uint64_t hash = hash_mix((uint64_t)group << 32 | line, 1);

	MAP_PROBE(&c->member_index, hash, id)
	{
		if (c->members.v[id].group == group && c->members.v[id].line == line)
			return ERR_OK;
	}
	TRY(map_put(&c->member_index, hash, (uint32_t)c->members.n));
	return vec_push(&c->members, ((struct member){group, line}));
}

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

static int64_t add_to_sum(int64_t sum, int64_t value)
{
	sum = sum == NOTHING ? value : add_saturating(sum, value);
	return sum == NOTHING ? NOTHING + 1 : sum;
}

static enum err add_value(struct charting *c, uint32_t group, struct place at, int64_t value)
{
	struct curve *curve;
	int64_t *sum;

	TRY(join_group(c, group, at.line));
	TRY(find_curve(c, group, &at, &curve));
	if (c->types.v[at.type].gauge)
		return gauge_lines_value(&c->levels, curve->level, value);
	sum = &curve->sums[at.point];
	*sum = add_to_sum(*sum, value);
	return ERR_OK;
}

/* A value of the whole profile. */
static enum err add_whole(struct charting *c, const struct chunk_view *v, struct place at,
			  int64_t value)
{
	uint32_t group;

	TRY(grouping_find(&c->grouping, &c->q, v->head.series, 0, &group));
	return add_value(c, group, at, value);
}

static int64_t sum_rows(const struct charting *c, const struct chunk_rows_read *r,
			const struct chunk_group *group)
{
	bool all = call_site_is_all(&c->site);
	int64_t sum = 0;

	for (uint32_t i = group->first; i < group->first + group->n; i++)
		if (all || c->site.takes.v[r->stacks[i]])
			sum = add_saturating(sum, r->values[i]);
	return sum;
}

static int64_t with_sign(int sign, int64_t value)
{
	return sign > 0 ? value : value == INT64_MIN ? INT64_MAX : -value;
}

/* A series is in the group of its own labels, whichever of its rows are selected: the time in which
 * there was none of them was measured, too. */
static enum err join_series(struct charting *c, const struct chunk_view *v, struct place at)
{
	uint32_t group;

	TRY(grouping_find(&c->grouping, &c->q, v->head.series, 0, &group));
	while (c->line_labels.n <= at.line)
		TRY(vec_push(&c->line_labels, ((struct line_labels){0})));
	c->line_labels.v[at.line].own = group;
	c->line_labels.v[at.line].open |= c->open;
	return join_group(c, group, at.line);
}

static enum err note_group(struct charting *c, uint32_t group, uint32_t line)
{
	while (c->of_samples.n <= group)
		TRY(vec_push(&c->of_samples, false));
	c->of_samples.v[group] |= c->line_labels.v[line].own != group;
	return ERR_OK;
}

/* [from, until), in one point. */
struct piece {
	struct place at;
	int64_t from_ns, until_ns;
};

static struct piece point_piece(const struct charting *c, struct place at, int64_t from_ns,
				int64_t until_ns)
{
	int64_t end;

	at.point = (size_t)((from_ns - c->first_ns) / c->question->step_ns);
	end = add_saturating(c->first_ns, ((int64_t)at.point + 1) * c->question->step_ns);
	return (struct piece){at, from_ns, end < until_ns ? end : until_ns};
}

static enum err add_piece(struct charting *c, const struct chunk_view *v,
			  struct chunk_rows_read *rows, const struct piece *p, int sign)
{
	TRY(question_rows_between(&c->q, rows, p->from_ns, p->until_ns));
	/* A profile without rows was measured all the same. */
	if (!rows->group_count && question_takes_rows(&c->q, v))
		return add_whole(c, v, p->at, 0);
	for (uint32_t g = 0; g < rows->group_count; g++) {
		uint32_t group;

		TRY(grouping_find(&c->grouping, &c->q, v->head.series, rows->groups[g].labels,
				  &group));
		TRY(note_group(c, group, p->at.line));
		TRY(add_value(c, group, p->at,
			      with_sign(sign, sum_rows(c, rows, &rows->groups[g]))));
	}
	return ERR_OK;
}

/* Whether the total in the head says all there is to say. Every series has a service of its own. */
static bool needs_rows(const struct charting *c, const struct chunk_view *v)
{
	return !call_site_is_all(&c->site) || !question_takes_rows(&c->q, v) ||
	       (!grouping_fits_rollups(&c->grouping) && v->head.flags & CHUNK_GROUPS);
}

/* All of it at one point. */
static enum err add_at(struct charting *c, const struct chunk_view *v,
		       const struct chunk_column *column, struct place at, int sign)
{
	struct piece all = {at, INT64_MIN, INT64_MAX};
	struct chunk_rows_read rows;
	enum err e;

	if (!needs_rows(c, v))
		return add_whole(c, v, at, with_sign(sign, column->total));
	if (!call_site_is_all(&c->site))
		TRY(call_site_look(&c->site, &c->q, v->head.stack_limit));
	TRY(question_read(&c->q, v, column, &rows));
	e = add_piece(c, v, &rows, &all, sign);
	chunk_rows_release(&rows);
	return e;
}

/* What of it lies in each point. */
static enum err add_pieces(struct charting *c, const struct chunk_view *v,
			   const struct chunk_column *column, const struct piece *part)
{
	bool heads = !needs_rows(c, v) && column_cuts_evenly(&v->head, column);
	int64_t start = v->head.time_ns, end = profile_end(&v->head), from = part->from_ns;
	int64_t before = share_before(column->total, start, end, from);
	struct chunk_rows_read rows = {0};
	enum err e = ERR_OK;

	if (!heads && !call_site_is_all(&c->site))
		TRY(call_site_look(&c->site, &c->q, v->head.stack_limit));
	if (!heads)
		TRY(question_read(&c->q, v, column, &rows));
	while (!e && from < part->until_ns) {
		struct piece p = point_piece(c, part->at, from, part->until_ns);
		int64_t after = share_before(column->total, start, end, p.until_ns);

		e = heads ? add_whole(c, v, p.at, after - before) : add_piece(c, v, &rows, &p, 1);
		before = after;
		from = p.until_ns;
	}
	chunk_rows_release(&rows);
	return e;
}

/* A profile: all of it where it lies in one point. */
static enum err add_profile(struct charting *c, const struct chunk_view *v,
			    const struct chunk_column *column, struct place at)
{
	const struct selection *s = c->q.selection;
	int64_t start = v->head.time_ns, end = profile_end(&v->head);
	struct piece part = {at, start > s->from_ns ? start : s->from_ns,
			     end < s->until_ns ? end : s->until_ns};
	struct piece first = point_piece(c, at, part.from_ns, INT64_MAX);

	if (profile_within(&v->head, s->from_ns, s->until_ns) && end <= first.until_ns)
		return add_at(c, v, column, first.at, 1);
	return add_pieces(c, v, column, &part);
}

/* Moves what of a roll-up lies beyond its end to where it belongs. */
static enum err add_beyond(struct charting *c, const struct chunk_view *v,
			   const struct chunk_column *column, struct place at)
{
	int64_t border = v->head.time_ns;
	size_t before = (size_t)((border - 1 - c->first_ns) / c->question->step_ns);
	size_t after = (size_t)((border - c->first_ns) / c->question->step_ns);
	bool inside = border < c->q.selection->until_ns;

	if (inside && before == after)
		return ERR_OK;
	at.point = before;
	TRY(add_at(c, v, column, at, -1));
	at.point = after;
	return inside ? add_at(c, v, column, at, 1) : ERR_OK;
}

/* Means over profiles, and gauges that are summed up, are of the moment in which the profile
 *
 * starts. */
static enum err add_moment(struct charting *c, const struct chunk_view *v,
			   const struct chunk_column *column, struct place at)
{
	const struct selection *s = c->q.selection;

	if (v->head.time_ns < s->from_ns || v->head.time_ns >= s->until_ns)
		return ERR_OK;
	at.point = (size_t)((v->head.time_ns - c->first_ns) / c->question->step_ns);
	if (c->types.v[at.type].means)
		TRY(count_profiles(c, at, v->head.profiles));
	return add_at(c, v, column, at, 1);
}

/* A value of a gauge holds until the next of its series. */
static enum err add_level(struct charting *c, const struct chunk_view *v,
			  const struct chunk_column *column, struct place at)
{
	TRY(gauge_lines_profile(&c->levels, &c->q, &c->coverage, at.line, &v->head));
	return add_at(c, v, column, at, 1);
}

static enum err cover(struct charting *c, const struct chunk_view *v, struct place *at)
{
	struct coverage_run run = coverage_of_chunk(&v->head);

	TRY(coverage_line(&c->coverage, at->series, at->type, c->types.v[at->type].gauge,
			  &at->line));
	/* Of a roll-up its runs say it. */
	if (v->head.flags & (CHUNK_SUM | CHUNK_BEYOND))
		return ERR_OK;
	return coverage_add(&c->coverage, &c->q, at->line, &run);
}

static enum err chart_chunk(struct question *q, const struct chunk_view *v,
			    const struct chunk_column *column)
{
	struct charting *c = (struct charting *)q;
	struct place at = {.type = c->local.v[column->type]};
	const struct chart_type *type = &c->types.v[at.type];

	TRY(series_numbers_find(&c->numbers, q, v->head.series, &at.series));
	/* Summed up although it is a gauge: only what is in the range. */
	if (!type->gauge && choice_is_gauge(&q->choice, column->type) &&
	    v->head.time_ns < q->selection->from_ns)
		return ERR_OK;
	TRY(cover(c, v, &at));
	TRY(join_series(c, v, at));
	if (v->head.flags & CHUNK_RUN)
		return ERR_OK;
	if (type->gauge)
		return add_level(c, v, column, at);
	if (!type->means)
		at.series = 0; /* sums need not tell them apart */
	if (v->head.flags & CHUNK_BEYOND)
		return add_beyond(c, v, column, at);
	if (v->head.flags & CHUNK_SUM || type->means || choice_is_gauge(&q->choice, column->type))
		return add_moment(c, v, column, at);
	return add_profile(c, v, column, at);
}

static enum err number_type(struct charting *c, const struct type_entry *type, uint32_t *ret)
{
	struct chart_type fresh = {.means = c->question->average ||
					    (type->gauge && !c->question->force_sum),
				   .gauge = type->gauge && !c->question->force_sum};

	for (size_t i = 0; i < c->types.n; i++)
		if (str_eq(c->types.v[i].id, type_shown(type->id))) {
			*ret = (uint32_t)i;
			return ERR_OK;
		}
	fresh.id = arena_str(&c->q.arena, type_shown(type->id));
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
	bool by_samples = !grouping_fits_rollups(&c->grouping);
	enum err e;

	grouping_begin(&c->grouping);
	series_numbers_begin(&c->numbers);
	call_site_begin(&c->site);
	c->open = 0;
	mutex_lock(&q->partition->lock);
	for (size_t i = 0; by_samples && i < c->grouping.name_count && i < 64; i++)
		if (samples_have(&q->partition->dict, c->grouping.names[i]))
			c->open |= UINT64_C(1) << i;
	e = number_types(c);
	mutex_unlock(&q->partition->lock);
	return e;
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
		points[i] = (struct point){c->first_ns + (int64_t)i * c->question->step_ns, NAN, 0};
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

/* A series of the answer while it is made. */
struct made_series {
	struct series_points points;
	double total;
	__int128 held; /* for a gauge: sum of value × time over the range */
	uint32_t group, type;
	uint32_t *lines; /* of the coverage, in order */
	size_t line_count;
};

struct made_list {
	struct made_series *v;
	size_t n;
};

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

		/* finish_levels turns these into means. */
		if (held) {
			add_to_point(p, (double)held[i]);
			made->held += held[i];
		} else if (curve->sums[i] != NOTHING && type->means) {
			add_to_point(p, (double)curve->sums[i] / type->counts.v[curve->series][i]);
		} else if (curve->sums[i] != NOTHING) {
			add_sum(p, curve->sums[i]);
		}
	}
}

/* Levels are of the time in which there was any. */
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
			p->value = isnan(p->value) ? 0 : p->value / (double)s->covered[i];
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

/* A series for every group and type that has a curve; `of` tells which. */
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

/* Of the member's group; NULL where that has no value. */
static struct made_series *made_of(const struct charting *c, struct made_series **of,
				   const struct member *member)
{
	uint32_t type = c->coverage.lines.v[member->line].type;

	return of[member->group * c->types.n + type];
}

/* Which lines of the coverage each has. */
static enum err give_lines(struct charting *c, struct made_series **of)
{
	vec_for_each (member, &c->members) {
		struct made_series *made = made_of(c, of, member);

		if (made)
			made->line_count++;
	}
	vec_for_each (member, &c->members) {
		struct made_series *made = made_of(c, of, member);

		if (!made)
			continue;
		if (!made->lines) {
			made->lines =
				arena_alloc(&c->q.arena, made->line_count * sizeof(*made->lines));
			if (!made->lines)
				return ERR_NO_MEMORY;
			made->line_count = 0;
		}
		made->lines[made->line_count++] = member->line;
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

/* ------------------------------------------------------------------ beyond the limit */

static void add_points(const struct charting *c, struct made_series *to,
		       const struct made_series *from)
{
	const struct chart_type *type = &c->types.v[to->type];

	to->held += from->held;
	for (size_t i = 0; i < to->points.n; i++) {
		const struct point *p = &from->points.points[i];

		if (isnan(p->value))
			continue;
		if (type->gauge || type->means)
			add_to_point(&to->points.points[i], p->value);
		else
			add_sum(&to->points.points[i], p->sum);
	}
}

static const struct str *value_in(const struct label_tuple *tuple, struct str name)
{
	for (size_t i = 0; i < tuple->n; i++)
		if (str_eq(tuple->labels[i].name, name))
			return &tuple->labels[i].value;
	return NULL;
}

/* Whether samples of a series may be in a group: its own labels decide, the others must be known. */
static bool may_be_in(const struct charting *c, const struct line_labels *line, uint32_t group)
{
	const struct label_tuple *own = &c->grouping.groups.v[line->own];
	const struct label_tuple *wanted = &c->grouping.groups.v[group];

	for (size_t i = 0; i < c->grouping.name_count; i++) {
		const struct str *has = value_in(own, c->grouping.names[i]);
		const struct str *wants = value_in(wanted, c->grouping.names[i]);

		if (has && (!wants || !str_eq(*has, *wants)))
			return false;
		if (!has && wants && (i >= 64 || !(line->open >> i & 1)))
			return false;
	}
	return true;
}

/* A group by labels of samples is covered by all series that may have such samples, as a selection
 * by these labels is: that there was no such sample was measured, too. */
static enum err find_lines(struct charting *c, const struct made_series *made)
{
	c->lines.n = 0;
	for (uint32_t line = 0; line < c->line_labels.n; line++)
		if (c->coverage.lines.v[line].type == made->type &&
		    may_be_in(c, &c->line_labels.v[line], made->group))
			TRY(vec_push(&c->lines, line));
	return ERR_OK;
}

static bool is_of_samples(const struct charting *c, uint32_t group)
{
	return group < c->of_samples.n && c->of_samples.v[group];
}

/* The lines of a type that are in groups that are not shown, also in those without a value, as in
 * a selection of all these groups. */
static enum err mark_rest(const struct charting *c, const struct made_list *list, size_t limit,
			  uint32_t type, struct arena *arena, bool *lines)
{
	bool *shown = arena_zalloc(arena, c->grouping.groups.n + 1, sizeof(*shown));

	if (!shown)
		return ERR_NO_MEMORY;
	for (size_t i = 0; i < limit; i++)
		shown[list->v[i].group] |= list->v[i].type == type;
	vec_for_each (member, &c->members)
		lines[member->line] |= !shown[member->group];
	for (size_t i = limit; i < list->n; i++)
		for (uint32_t line = 0;
		     is_of_samples(c, list->v[i].group) && line < c->line_labels.n; line++)
			if (!lines[line])
				lines[line] =
					may_be_in(c, &c->line_labels.v[line], list->v[i].group);
	return ERR_OK;
}

static enum err unite_lines(struct charting *c, const struct made_list *list, size_t limit,
			    struct made_series *other)
{
	size_t n = c->coverage.lines.n;
	bool *marked = arena_zalloc(&c->q.arena, n + 1, sizeof(*marked));

	other->lines = arena_alloc(&c->q.arena, (n + 1) * sizeof(*other->lines));
	if (!marked || !other->lines)
		return ERR_NO_MEMORY;
	TRY(mark_rest(c, list, limit, other->type, &c->q.arena, marked));
	for (uint32_t line = 0; line < n; line++)
		if (marked[line] && c->coverage.lines.v[line].type == other->type)
			other->lines[other->line_count++] = line;
	return ERR_OK;
}

/* What is beyond the limit is one more series for each type: a total stays what it is. */
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
			TRY(unite_lines(c, list, limit, other));
		}
		add_points(c, other, &list->v[i]);
	}
	memcpy(list->v + limit, others, n * sizeof(*others));
	list->n = limit + n;
	return ERR_OK;
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
	coverage_init(&c->coverage, s->from_ns, s->until_ns);
	coverage_buckets(&c->coverage, c->first_ns, step, c->n);
	if (!question->force_sum && (c->q.each_type || question_may_be_gauge(&c->q)))
		c->q.lookback_ns = CARRIED_NS;
	c->grouping.names = question->group_by;
	c->grouping.name_count = question->group_count;
	c->site.path = question->call_site;
	c->site.path_count = question->call_site_count;
	c->site.function = question->function;
	c->site.self = question->function_self;
	c->site.late = question->late;
	c->site.late_count = question->late_count;
	c->q.rollup_ns = grouping_fits_rollups(&c->grouping) ? step : 0;
	/* No roll-ups for gauges, unless they are summed. */
	c->q.gauge_rollup_ns = question->force_sum ? c->q.rollup_ns : 0;
	return ERR_OK;
}

static enum err measure(struct charting *c, struct series_answer *ret, struct made_series *made)
{
	int64_t *covered = arena_zalloc(&ret->arena, c->n + 1, sizeof(*covered));
	bool of_samples = !made->points.other && is_of_samples(c, made->group);

	if (!covered)
		return ERR_NO_MEMORY;
	made->points.covered = covered;
	if (of_samples)
		TRY(find_lines(c, made));
	return coverage_sum(&c->coverage, of_samples ? c->lines.v : made->lines,
			    of_samples ? c->lines.n : made->line_count, covered,
			    &made->points.covered_ns);
}

static bool has_series(const struct made_list *list, uint32_t type)
{
	for (size_t i = 0; i < list->n; i++)
		if (list->v[i].type == type)
			return true;
	return false;
}

/* Adds what is known to what other answers know of their parts. There is one group. */
static enum err add_to_wholes(struct charting *c, const struct made_list *list)
{
	uint32_t *lines = arena_alloc(&c->q.arena, (c->members.n + 1) * sizeof(*lines));

	if (!lines)
		return ERR_NO_MEMORY;
	for (uint32_t t = 0; t < c->types.n; t++) {
		struct coverage_whole *whole;
		size_t n = 0;

		vec_for_each (member, &c->members)
			if (c->coverage.lines.v[member->line].type == t)
				lines[n++] = member->line;
		if (!n)
			continue;
		TRY(whole_list_find(c->wholes, c->types.v[t].id, &whole));
		whole->has_values |= has_series(list, t);
		TRY(coverage_whole_add(whole, &c->coverage, lines, n));
	}
	return ERR_OK;
}

/* The selection's own, whatever the groups are. */
static enum err measure_all(struct charting *c)
{
	uint32_t *lines = arena_alloc(&c->q.arena, (c->coverage.lines.n + 1) * sizeof(*lines));

	c->q.ask->covered_ns = 0;
	if (!lines)
		return ERR_NO_MEMORY;
	for (uint32_t t = 0; t < c->types.n; t++) {
		int64_t covered;
		size_t n = 0;

		for (uint32_t i = 0; i < c->coverage.lines.n; i++)
			if (c->coverage.lines.v[i].type == t)
				lines[n++] = i;
		TRY(coverage_sum(&c->coverage, lines, n, NULL, &covered));
		if (covered > c->q.ask->covered_ns)
			c->q.ask->covered_ns = covered;
	}
	return ERR_OK;
}

static enum err finish(struct charting *c, struct series_answer *ret)
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
	TRY(give_lines(c, of));
	for (size_t i = 0; i < list.n; i++)
		list.v[i].total = points_total(&list.v[i].points);
	if (list.n)
		qsort(list.v, list.n, sizeof(*list.v), compare_series);
	TRY(sum_rest(c, ret, &list));
	ret->series = arena_zalloc(&ret->arena, list.n + 1, sizeof(*ret->series));
	if (!ret->series)
		return ERR_NO_MEMORY;
	for (size_t i = 0; i < list.n; i++) {
		TRY(measure(c, ret, &list.v[i]));
		finish_total(c, &list.v[i]);
		ret->series[ret->n++] = list.v[i].points;
	}
	return c->wholes ? add_to_wholes(c, &list) : measure_all(c);
}

static const struct question_handler handler = {begin_partition, chart_chunk, NULL};

/* Whether something of a day may be in the range, or hold until then. */
static bool is_near(const struct question *q, const struct partition *p)
{
	int64_t from = add_saturating(q->selection->from_ns, -q->lookback_ns);

	if (p->day * NS_PER_DAY >= q->selection->until_ns ||
	    (p->day + 1) * NS_PER_DAY <= add_saturating(from, -PROFILE_LONGEST_NS))
		return false;
	/* A light one knows when its series were, and nobody adds to it. */
	for (size_t i = 0; p->light && i < p->series.n; i++) {
		const struct series_entry *s = &p->series.v[i];

		if ((!s->first_ns && !s->last_ns) ||
		    (s->last_ns >= from && s->first_ns < q->selection->until_ns))
			return true;
	}
	return !p->light;
}

enum err answer_series_of(const struct source *source, const struct service_part *part,
			  const struct selection *selection, const struct series_question *question,
			  struct ask *ask, struct whole_list *wholes,
			  struct coverage_reach *ret_reach, struct series_answer *ret)
{
	CLEANUP(charting_release) struct charting c = {.question = question, .wholes = wholes};
	struct series_answer answer = {0};
	enum err e;

	question_init(&c.q, source, (struct str){0}, selection, ask);
	c.q.each_type = question->each_type;
	c.q.handler = &handler;
	TRY(begin(&c));
	for (size_t i = 0; i < part->n; i++)
		if (is_near(&c.q, part->partitions[i]))
			TRY(question_partition(&c.q, part->partitions[i]));
	e = finish(&c, &answer);
	if (e) {
		arena_release(&answer.arena);
		return e;
	}
	*ret = answer;
	*ret_reach = coverage_reach(&c.coverage);
	return ERR_OK;
}

int64_t answer_series_since(const struct series_question *question, int64_t from_ns)
{
	return add_saturating(from_ns, question->force_sum ? 0 : -CARRIED_NS);
}

enum err answer_series(const struct source *source, struct str tenant,
		       const struct selection *selection, const struct series_question *question,
		       struct ask *ask, struct series_answer *ret)
{
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
