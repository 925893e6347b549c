/*
 * Everything selected as one profile. Values are summed into arrays by stack; stacks of a partition
 * become stacks of the answer when it has been read, once each.
 */
#include "base/hash.h"
#include "store/merging.h"

#define LEAST_PERIOD_NS 1000

static void merging_release(struct merging *m)
{
	for (size_t i = 0; i < m->buckets.n; i++) {
		mem_free(m->buckets.v[i].local.v);
		mem_free(m->buckets.v[i].total);
	}
	vec_release(&m->buckets);
	grouping_release(&m->grouping);
	series_numbers_release(&m->numbers);
	gauge_hold_release(&m->hold);
	coverage_release(&m->coverage);
	gauge_cells_release(&m->local);
	gauge_cells_release(&m->total);
	remap_release(&m->remap);
	question_release(&m->q);
}

static enum err grow_sums(struct question *q, struct sums *s)
{
	size_t cap = s->n;

	if (q->stack_count <= s->n)
		return ERR_OK;
	TRY(question_take(q, ((size_t)q->stack_count - s->n) * sizeof(*s->v)));
	TRY(mem_grow(&s->v, &cap, q->stack_count, sizeof(*s->v), VEC_CEILING));
	memset(s->v + s->n, 0, (cap - s->n) * sizeof(*s->v));
	s->n = (uint32_t)cap;
	return ERR_OK;
}

/* With room for the stacks of the partition. */
static enum err find_bucket(struct merging *m, uint32_t group, struct bucket **ret)
{
	while (m->buckets.n <= group)
		TRY(vec_push(&m->buckets, ((struct bucket){0})));
	*ret = &m->buckets.v[group];
	return grow_sums(&m->q, &(*ret)->local);
}

static enum err add_cells(struct merging *m, uint32_t id, const struct chunk_rows_read *r,
			  const struct chunk_group *group)
{
	for (uint32_t i = group->first; i < group->first + group->n; i++)
		TRY(gauge_cells_add(&m->local, &m->q, id, r->stacks[i],
				    (__int128)r->values[i] * m->share.time_ns /
					    (int64_t)m->share.profiles));
	return ERR_OK;
}

static enum err add_groups(struct merging *m, const struct chunk_view *v,
			   const struct chunk_rows_read *r)
{
	for (uint32_t g = 0; g < r->group_count; g++) {
		const struct chunk_group *group = &r->groups[g];
		struct bucket *bucket;
		uint32_t id;

		TRY(grouping_find(&m->grouping, &m->q, v->head.series, group->labels, &id));
		if (m->q.gauge) {
			TRY(add_cells(m, id, r, group));
			continue;
		}
		TRY(find_bucket(m, id, &bucket));
		/* These were added one by one, saturating: the fast way must watch from now on. */
		bucket->local.bound = INT64_MAX;
		for (uint32_t i = group->first; i < group->first + group->n; i++) {
			int64_t *sum = &bucket->local.v[r->stacks[i]];

			*sum = add_saturating(*sum, r->values[i]);
		}
	}
	return ERR_OK;
}

/*
 * Many profiles have a sample count next to times, and roll-ups one next to their sums
 * (observe_beside); for others the common divisor of all values is the period, or a multiple of it.
 * A divisor near 1 means that times were measured, not counted.
 */
static void observe(struct merging *m, const struct chunk_view *v,
		    const struct chunk_column *column)
{
	double count = 0;

	if (!m->timed || column->total <= 0)
		return;
	if (v->head.flags & CHUNK_SUM && m->count_type != UINT32_MAX) {
		m->observed += (double)column->total;
		return;
	}
	for (uint32_t i = 0; i < v->head.column_count && m->count_type != UINT32_MAX; i++)
		if (v->head.columns[i].type == m->count_type)
			count = (double)v->head.columns[i].total;
	if (!(count > 0) && column->scale >= LEAST_PERIOD_NS)
		count = (double)column->total / (double)column->scale;
	if (count > 0) {
		m->observed += (double)column->total;
		m->observations += count;
	}
}

static void observe_beside(struct question *q, const struct chunk_column *column)
{
	struct merging *m = (struct merging *)q;

	m->observations += (double)column->total;
}

static enum err cover(struct merging *m, const struct chunk_view *v, uint32_t series,
		      uint32_t *ret_line)
{
	struct coverage_run run = coverage_of_chunk(&v->head);

	*ret_line = 0;
	/* Its runs say it. */
	if (v->head.flags & (CHUNK_SUM | CHUNK_BEYOND))
		return ERR_OK;
	TRY(coverage_line(&m->coverage, series, 0, m->q.gauge, ret_line));
	return coverage_add(&m->coverage, &m->q, *ret_line, &run);
}

/* When what is selected was taken, as far as it lies in the range. */
static void widen(struct merging *m, const struct chunk_view *v)
{
	const struct selection *s = m->q.selection;
	int64_t end = add_saturating(v->head.time_ns, v->head.duration_ns);
	int64_t first = v->head.time_ns > s->from_ns ? v->head.time_ns : s->from_ns;

	if (!m->q.gauge && end > s->until_ns)
		end = s->until_ns;
	if (!m->any || first < m->first_ns)
		m->first_ns = first;
	if (!m->any || end > m->last_ns)
		m->last_ns = end;
	m->any = true;
}

/* Takes away what of a roll-up lies beyond the range. What lies in it stays where it is. */
static enum err take_beyond(struct merging *m, const struct chunk_view *v,
			    const struct chunk_column *column)
{
	struct chunk_rows_read rows;
	struct bucket *bucket;
	uint32_t group;

	if (v->head.time_ns < m->q.selection->until_ns)
		return ERR_OK;
	TRY(grouping_find(&m->grouping, &m->q, v->head.series, 0, &group));
	TRY(find_bucket(m, group, &bucket));
	TRY(question_rows(&m->q, v, column, &rows));
	for (uint32_t i = 0; i < v->head.rows && rows.group_count; i++)
		bucket->local.v[rows.stacks[i]] -= rows.values[i];
	chunk_rows_release(&rows);
	return ERR_OK;
}

static enum err merge_rows(struct merging *m, const struct chunk_view *v,
			   const struct chunk_column *column)
{
	struct chunk_rows_read rows;
	enum err e;

	TRY(question_rows(&m->q, v, column, &rows));
	e = add_groups(m, v, &rows);
	chunk_rows_release(&rows);
	return e;
}

/* Of a gauge, first when its profiles are: how long one holds is known when the next is. */
static enum err note_level(struct merging *m, const struct chunk_view *v, uint32_t series)
{
	uint32_t line;

	TRY(cover(m, v, series, &line));
	TRY(gauge_hold_add(&m->hold, &m->q, series, line, v->head.time_ns));
	if (v->head.time_ns >= m->q.selection->from_ns)
		widen(m, v);
	return ERR_OK;
}

/* Whether all rows of the chunk are selected, and in one group. */
static bool is_of_one_group(const struct merging *m, const struct chunk_view *v)
{
	return !m->grouping.name_count || !(v->head.flags & CHUNK_GROUPS);
}

/* And then its values. */
static enum err merge_level(struct merging *m, const struct chunk_view *v,
			    const struct chunk_column *column, uint32_t series)
{
	struct chunk_weights to;
	uint32_t group;

	m->share = gauge_hold_share(&m->hold, &m->coverage, series, v->head.time_ns);
	if (m->share.time_ns <= 0)
		return ERR_OK;
	if (!question_takes_rows(&m->q, v) || !is_of_one_group(m, v))
		return merge_rows(m, v, column);
	TRY(grouping_find(&m->grouping, &m->q, v->head.series, 0, &group));
	if (group)
		return merge_rows(m, v, column);
	TRY(gauge_cells_reserve(&m->local, &m->q, m->q.stack_count));
	to = (struct chunk_weights){m->local.first, m->q.stack_count, m->share.time_ns,
				    (int64_t)m->share.profiles};
	return chunk_weigh(v, column, &to);
}

static enum err merge_chunk(struct question *q, const struct chunk_view *v,
			    const struct chunk_column *column)
{
	struct merging *m = (struct merging *)q;
	struct bucket *bucket;
	uint32_t series, group, line;

	TRY(series_numbers_find(&m->numbers, q, v->head.series, &series));
	if (q->gauge)
		return m->weighing ? merge_level(m, v, column, series) : note_level(m, v, series);
	TRY(cover(m, v, series, &line));
	if (v->head.flags & CHUNK_RUN)
		return ERR_OK;
	if (v->head.flags & CHUNK_BEYOND)
		return take_beyond(m, v, column);
	widen(m, v);
	observe(m, v, column);
	if (question_takes_all(q, v, column) && is_of_one_group(m, v)) {
		TRY(grouping_find(&m->grouping, q, v->head.series, 0, &group));
		TRY(find_bucket(m, group, &bucket));
		return chunk_sum(v, column, &bucket->local);
	}
	return merge_rows(m, v, column);
}

static void find_count_type(struct merging *m)
{
	struct type_id ours = merging_type(m->q.type);
	const struct partition *p = m->q.partition;

	m->timed = str_eq(ours.unit, STR("nanoseconds")) && str_eq(ours.unit, ours.period_unit);
	m->count_type = UINT32_MAX;
	for (size_t i = 0; m->timed && i < p->types.n; i++) {
		struct type_id other = merging_type(p->types.v[i].id);

		if (str_eq(other.name, ours.name) && str_eq(other.type, STR("samples")) &&
		    str_eq(other.unit, STR("count")) && str_eq(other.period_type, ours.period_type))
			m->count_type = (uint32_t)i;
	}
}

static enum err begin_partition(struct question *q)
{
	struct merging *m = (struct merging *)q;

	find_count_type(m);
	q->beside = m->count_type;
	grouping_begin(&m->grouping);
	series_numbers_begin(&m->numbers);
	return ERR_OK;
}

static enum err add_to_total(struct question *q, struct bucket *b, uint32_t stack, int64_t value)
{
	if (stack >= b->total_n) {
		size_t cap = b->total_n;

		TRY(mem_grow(&b->total, &cap, (size_t)stack + 1, sizeof(*b->total), VEC_CEILING));
		TRY(question_take(q, (cap - b->total_n) * sizeof(*b->total)));
		memset(b->total + b->total_n, 0, (cap - b->total_n) * sizeof(*b->total));
		b->total_n = cap;
	}
	b->total[stack] = add_saturating(b->total[stack], value);
	return ERR_OK;
}

/* The array may have been grown for another partition, with more stacks. */
static uint32_t local_stacks(const struct merging *m, const struct bucket *b)
{
	return b->local.n < m->q.stack_count ? b->local.n : m->q.stack_count;
}

/*
 * If most stacks of the first partition are needed, its dictionary is copied as a whole, with the
 * same ids. Not if it has a mapping at two addresses, which are unified in a result.
 */
static enum err copy_whole(struct merging *m, struct dict *dst, const struct dict *src, bool *ret)
{
	size_t taken = 0;
	bool joins = true;

	*ret = false;
	for (size_t b = 0; b < m->buckets.n; b++)
		for (uint32_t i = 0; i < local_stacks(m, &m->buckets.v[b]); i++)
			taken += m->buckets.v[b].local.v[i] != 0;
	if (taken < src->stacks.entries.n / 2 || !dict_is_empty(dst))
		return ERR_OK;
	TRY(remap_joins_mappings(src, &joins));
	if (joins)
		return ERR_OK;
	*ret = true;
	return dict_copy_code(dst, src);
}

static enum err carry_cell_over(struct merging *m, uint32_t group, uint32_t stack, __int128 sum)
{
	if (!sum)
		return ERR_OK;
	TRY(remap_stack(&m->remap, stack, &stack));
	return gauge_cells_add(&m->total, &m->q, group, stack, sum);
}

static enum err carry_cells_over(struct merging *m)
{
	TRY(remap_begin(&m->remap, &m->q.partition->dict, m->dst->dict));
	for (size_t i = 0; i < m->local.first_n; i++)
		TRY(carry_cell_over(m, 0, (uint32_t)i, m->local.first[i]));
	vec_for_each (cell, &m->local.list)
		TRY(carry_cell_over(m, cell->group, cell->stack, cell->sum));
	gauge_cells_clear(&m->local);
	return ERR_OK;
}

/* The partition's sums into those of the answer; its dictionary is locked. */
static enum err carry_over(struct merging *m)
{
	struct dict *dst = m->dst->dict;
	const struct dict *src = &m->q.partition->dict;
	bool copied;

	TRY(copy_whole(m, dst, src, &copied));
	TRY(remap_begin(&m->remap, src, dst));
	/* Most of what the first partition has comes over: room for it at once. */
	if (!copied && dst->stacks.entries.n < src->stacks.entries.n && m->buckets.n) {
		TRY(map_reserve(&dst->stacks.index, (uint32_t)src->stacks.entries.n));
		TRY(map_reserve(&dst->frames.index, (uint32_t)src->frames.n));
		TRY(map_reserve(&dst->functions.index, (uint32_t)src->functions.n));
		TRY(map_reserve(&dst->strings.index, (uint32_t)src->strings.n));
	}
	for (size_t b = 0; b < m->buckets.n; b++) {
		struct bucket *bucket = &m->buckets.v[b];
		uint32_t n = local_stacks(m, bucket);

		for (uint32_t i = 0; i < n; i++) {
			uint32_t stack = i;

			if (!bucket->local.v[i])
				continue;
			if (!copied)
				TRY(remap_stack(&m->remap, i, &stack));
			TRY(add_to_total(&m->q, bucket, stack, bucket->local.v[i]));
			bucket->local.v[i] = 0;
		}
		bucket->local.bound = 0;
	}
	return ERR_OK;
}

static enum err end_partition(struct question *q)
{
	struct merging *m = (struct merging *)q;
	enum err e;

	mutex_lock(&q->partition->lock);
	e = q->gauge ? carry_cells_over(m) : carry_over(m);
	mutex_unlock(&q->partition->lock);
	return e;
}

/* Gauges need two passes: for the times of profiles, and for their values. */
static enum err weigh(struct merging *m, const struct question_handler *handler)
{
	if (!m->hold.series.n)
		return ERR_OK;
	gauge_hold_finish(&m->hold);
	m->weighing = true;
	if (!m->any)
		m->first_ns = m->last_ns = m->q.selection->from_ns;
	return question_run(&m->q, handler);
}

enum err answer_merge(const struct source *source, struct str tenant,
		      const struct selection *selection, const struct str *group_by,
		      size_t group_count, struct ask *ask, struct profile *dst)
{
	static const struct question_handler handler = {begin_partition, merge_chunk, end_partition,
							observe_beside};
	CLEANUP(merging_release) struct merging m = {.dst = dst};

	if (dst->dict->seed != source->seed || dst->type_count)
		return ERR_BAD_ARGUMENT;
	question_init(&m.q, source, tenant, selection, ask);
	m.grouping.names = group_by;
	m.grouping.name_count = group_count;
	/* Of a gauge none will do: they do not say how long each of its values held. */
	m.q.rollup_ns = grouping_fits_rollups(&m.grouping) ? NS_PER_DAY : 0;
	coverage_init(&m.coverage, selection->from_ns, selection->until_ns);
	if (question_may_be_gauge(&m.q))
		m.q.lookback_ns = CARRIED_NS;
	TRY(question_run(&m.q, &handler));
	TRY(coverage_finish(&m.coverage, &m.q));
	TRY(coverage_total(&m.coverage, &m.q.ask->covered_ns));
	TRY(weigh(&m, &handler));
	return merging_finish(&m);
}
