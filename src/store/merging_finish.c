#include "store/merging.h"

#include <math.h>

struct type_id merging_type(struct str id)
{
	struct type_id t = {0};
	struct str *const parts[] = {&t.name, &t.type, &t.unit, &t.period_type, &t.period_unit};

	for (size_t i = 0; i < 5 && str_split(&id, ':', parts[i]); i++)
		;
	return t;
}

static enum err group_labels(struct merging *m, uint32_t group, uint32_t *ret)
{
	const struct label_tuple *tuple = &m->grouping.groups.v[group];
	uint32_t *ids = arena_zalloc(&m->q.arena, tuple->n + 1, sizeof(*ids));

	if (!ids)
		return ERR_NO_MEMORY;
	for (size_t i = 0; i < tuple->n; i++)
		TRY(dict_label_text(m->dst->dict, tuple->labels[i].name, tuple->labels[i].value,
				    &ids[i]));
	return dict_label_set(m->dst->dict, ids, (uint32_t)tuple->n, ret);
}

/* Means are rounded so that what is lost on one stack is made up for by the next: a hundred that
 * were there for a hundredth of the time are one, and not none. */
static int64_t round_on(struct merging *m, double mean)
{
	double wanted = mean + m->rest;
	int64_t value = mean > 0 || mean < 0 ? llround(wanted) : 0;

	m->rest = wanted - (double)value;
	return value;
}

static enum err emit(struct merging *m, uint32_t group, const double *means, const int64_t *sums,
		     size_t n)
{
	struct row row = {0};

	TRY(group_labels(m, group, &row.labels));
	for (size_t i = 0; i < n; i++) {
		int64_t value = sums ? sums[i] : round_on(m, means[i]);

		row.stack = (uint32_t)i;
		if (value)
			TRY(profile_add(m->dst, &row, &value));
	}
	return ERR_OK;
}

/* A gauge: values by the time they held, of all the time in which there was any. */
static enum err emit_means(struct merging *m, uint32_t group, double time)
{
	CLEANUP(mem_free_ptr) double *means = NULL;
	size_t n = m->dst->dict->stacks.entries.n;

	TRY(question_array(&m->q, n, sizeof(*means), &means));
	vec_for_each (cell, &m->total.list)
		if (m->buckets.v[cell->bucket].group == group)
			means[cell->stack] += cell->sum / time;
	return emit(m, group, means, NULL, n);
}

static enum err describe(struct merging *m)
{
	struct type_id id = merging_type(m->q.type);

	TRY(profile_add_type(m->dst, id.type, id.unit));
	TRY(dict_string(m->dst->dict, id.period_type, &m->dst->period_type.type));
	TRY(dict_string(m->dst->dict, id.period_unit, &m->dst->period_type.unit));
	if (m->observations >= 1)
		m->dst->period = llround(m->observed / m->observations);
	else if (str_eq(id.unit, STR("bytes")) && str_eq(id.period_unit, STR("bytes")))
		m->dst->period = STORE_USUAL_PERIOD_BYTES;
	m->dst->time_ns = m->first_ns;
	m->dst->duration_ns = m->last_ns - m->first_ns;
	return ERR_OK;
}

static enum err finish_gauge(struct merging *m)
{
	int64_t time;

	TRY(gauge_hold_time(&m->hold, &m->coverage, &time));
	for (uint32_t g = 0; time && g < m->grouping.groups.n; g++)
		TRY(emit_means(m, g, (double)time));
	return ERR_OK;
}

enum err merging_finish(struct merging *m)
{
	TRY(describe(m));
	if (m->q.gauge)
		return finish_gauge(m);
	for (size_t b = 0; b < m->buckets.n; b++)
		TRY(emit(m, m->buckets.v[b].group, NULL, m->buckets.v[b].total,
			 m->buckets.v[b].total_n));
	return ERR_OK;
}
