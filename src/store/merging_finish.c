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
static int64_t round_on(struct merging *m, __int128 held, int64_t time)
{
	__int128 wanted = held + m->rest;
	int64_t value;

	if (!held)
		return 0;
	value = held_mean(wanted, time);
	m->rest = wanted - (__int128)value * time;
	return value;
}

static enum err emit(struct merging *m, uint32_t group, const int64_t *values, size_t n)
{
	struct row row = {0};

	TRY(group_labels(m, group, &row.labels));
	for (size_t i = 0; i < n; i++) {
		row.stack = (uint32_t)i;
		if (values[i])
			TRY(profile_add(m->dst, &row, &values[i]));
	}
	return ERR_OK;
}

/* What profiles alone say of a group. */
static const struct series_points *find_exact(const struct merging *m, uint32_t group)
{
	const struct label_tuple *tuple = &m->grouping.groups.v[group];

	for (size_t i = 0; i < m->exact.n; i++) {
		const struct series_points *s = &m->exact.series[i];
		bool same = s->label_count == tuple->n;

		for (size_t k = 0; same && k < tuple->n; k++)
			same = str_eq(s->labels[k].value, tuple->labels[k].value);
		if (same)
			return s;
	}
	return NULL;
}

/* Roll-ups say how a total is divided among rows, and not what it is. */
static void fit_to_exact(const struct series_points *exact, int64_t time, __int128 *held, size_t n)
{
	long double sum = 0, wanted = (long double)exact->total * (long double)time;

	for (size_t i = 0; i < n; i++)
		sum += (long double)held[i];
	for (size_t i = 0; i < n && sum > 0; i++)
		held[i] = (__int128)((long double)held[i] * (wanted / sum));
}

/* What a last digit is missing by is the largest row's. */
static void add_up_to(int64_t total, int64_t *values, size_t n)
{
	size_t largest = 0;

	for (size_t i = 0; i < n; i++) {
		largest = values[i] > values[largest] ? i : largest;
		total -= values[i];
	}
	if (values[largest])
		values[largest] += total;
}

/* A gauge: values by the time they held, of all the time in which there was any. */
static enum err emit_means(struct merging *m, uint32_t group, int64_t time)
{
	CLEANUP(mem_free_ptr) __int128 *held = NULL;
	CLEANUP(mem_free_ptr) int64_t *values = NULL;
	const struct series_points *exact = m->rolled ? find_exact(m, group) : NULL;
	size_t n = m->dst->dict->stacks.entries.n;

	TRY(question_array(&m->q, n + 1, sizeof(*held), &held));
	TRY(question_array(&m->q, n + 1, sizeof(*values), &values));
	vec_for_each (cell, &m->total.list)
		if (m->buckets.v[cell->bucket].group == group)
			held[cell->stack] += cell->sum;
	if (exact)
		fit_to_exact(exact, time, held, n);
	for (size_t i = 0; i < n; i++)
		values[i] = round_on(m, held[i], time);
	if (exact)
		add_up_to(exact->total, values, n);
	return emit(m, group, values, n);
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
	int64_t time = m->q.ask->covered_ns;

	for (uint32_t g = 0; time && g < m->grouping.groups.n; g++)
		TRY(emit_means(m, g, time));
	return ERR_OK;
}

enum err merging_finish(struct merging *m)
{
	TRY(describe(m));
	if (m->q.gauge)
		return finish_gauge(m);
	for (size_t b = 0; b < m->buckets.n; b++)
		TRY(emit(m, m->buckets.v[b].group, m->buckets.v[b].total, m->buckets.v[b].total_n));
	return ERR_OK;
}
