#include "store/charting.h"

#include "base/hash.h"

void charting_release(struct charting *c)
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
	group_lines_release(&c->lines);
	coverage_release(&c->coverage);
	gauge_lines_release(&c->levels);
	grouping_release(&c->grouping);
	series_numbers_release(&c->numbers);
	call_site_release(&c->site);
	question_release(&c->q);
}

/* Destination of a value: type, series and point of the current chunk. */
struct place {
	uint32_t type, series, line;
	size_t point;
	int64_t time_ns; /* when the profile begins */
};

static enum err new_curve(struct charting *c, uint32_t group, const struct place *at,
			  struct curve *fresh)
{
	if (c->types.v[at->type].gauge)
		return gauge_lines_curve(&c->levels, &c->q, &c->coverage,
					 group_lines_of(&c->lines, at->line, group), &fresh->level);
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
	TRY(new_curve(c, group, at, &fresh));
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
		return gauge_lines_value(&c->levels, curve->level, at.time_ns, value);
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

/* A series belongs to the group of its own labels, whatever rows are selected, because time without
 * such rows was measured, too. */
static enum err join_series(struct charting *c, const struct chunk_view *v, struct place at)
{
	uint32_t group;

	TRY(grouping_find(&c->grouping, &c->q, v->head.series, 0, &group));
	TRY(group_lines_series(&c->lines, &c->coverage, at.line, group));
	return join_group(c, group, at.line);
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

	at.point = (size_t)((from_ns - c->first_ns) / c->step_ns);
	end = add_saturating(c->first_ns, ((int64_t)at.point + 1) * c->step_ns);
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
		TRY(add_value(c, group, p->at,
			      with_sign(sign, sum_rows(c, rows, &rows->groups[g]))));
	}
	return ERR_OK;
}

/* Whether rows must be read, because the total in the head is not sufficient. Every series has a
 * service. */
static bool needs_rows(const struct charting *c, const struct chunk_view *v)
{
	return !call_site_is_all(&c->site) || !question_takes_rows(&c->q, v) ||
	       (!grouping_fits_rollups(&c->grouping) && v->head.flags & CHUNK_GROUPS);
}

/* Adds the whole profile to one point. */
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

/* Divides a profile among points. */
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

/* Adds a profile: as a whole if it is inside one point. */
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

/* Moves the part of a roll-up beyond its end to its own point. */
static enum err add_beyond(struct charting *c, const struct chunk_view *v,
			   const struct chunk_column *column, struct place at)
{
	int64_t border = v->head.time_ns;
	size_t before = (size_t)((border - 1 - c->first_ns) / c->step_ns);
	size_t after = (size_t)((border - c->first_ns) / c->step_ns);
	bool inside = border < c->q.selection->until_ns;

	if (inside && before == after)
		return ERR_OK;
	at.point = before;
	TRY(add_at(c, v, column, at, -1));
	at.point = after;
	return inside ? add_at(c, v, column, at, 1) : ERR_OK;
}

/* Means over profiles, and summed gauges, belong to the start of the profile. */
static enum err add_moment(struct charting *c, const struct chunk_view *v,
			   const struct chunk_column *column, struct place at)
{
	const struct selection *s = c->q.selection;

	if (v->head.time_ns < s->from_ns || v->head.time_ns >= s->until_ns)
		return ERR_OK;
	at.point = (size_t)((v->head.time_ns - c->first_ns) / c->step_ns);
	if (c->types.v[at.type].means)
		TRY(count_profiles(c, at, v->head.profiles));
	return add_at(c, v, column, at, 1);
}

/* A value of a gauge is valid until the next of its series. */
static enum err add_level(struct charting *c, const struct chunk_view *v,
			  const struct chunk_column *column, struct place at)
{
	for (uint32_t line = at.line; line != NO_LINE; line = group_lines_part(&c->lines, line))
		TRY(gauge_lines_profile(&c->levels, &c->q, &c->coverage, line, &v->head));
	return add_at(c, v, column, at, 1);
}

static enum err cover(struct charting *c, const struct chunk_view *v, const struct place *at)
{
	struct coverage_run run = coverage_of_chunk(&v->head);

	/* The coverage of roll-ups is in their runs. */
	if (v->head.flags & (CHUNK_SUM | CHUNK_BEYOND))
		return ERR_OK;
	for (uint32_t line = at->line; line != NO_LINE; line = group_lines_part(&c->lines, line))
		TRY(coverage_add(&c->coverage, &c->q, line, &run));
	return ERR_OK;
}

static enum err chart_chunk(struct question *q, const struct chunk_view *v,
			    const struct chunk_column *column)
{
	struct charting *c = (struct charting *)q;
	struct place at = {.type = c->local.v[column->type], .time_ns = v->head.time_ns};
	const struct chart_type *type = &c->types.v[at.type];

	TRY(series_numbers_find(&c->numbers, q, v->head.series, &at.series));
	/* A gauge that is summed: only profiles that start in the range. */
	if (!type->gauge && choice_is_gauge(&q->choice, column->type) &&
	    v->head.time_ns < q->selection->from_ns)
		return ERR_OK;
	TRY(coverage_line(&c->coverage, at.series, at.type, type->gauge, &at.line));
	TRY(join_series(c, v, at));
	TRY(cover(c, v, &at));
	if (v->head.flags & CHUNK_RUN)
		return ERR_OK;
	if (type->gauge)
		return add_level(c, v, column, at);
	if (!type->means)
		at.series = 0; /* sums do not depend on the series */
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

/* Requires the partition's lock. */
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
	series_numbers_begin(&c->numbers);
	call_site_begin(&c->site);
	mutex_lock(&q->partition->lock);
	group_lines_begin(&c->lines, &c->grouping, &q->partition->dict);
	e = number_types(c);
	mutex_unlock(&q->partition->lock);
	return e;
}

const struct question_handler charting_handler = {begin_partition, chart_chunk, NULL, NULL};
