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

/* Roll-ups say how a total is divided among rows, and not what it is. */
static long double exact_scale(const struct merging *m, const __int128 *held, size_t n,
			       int64_t time)
{
	long double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += (long double)held[i];
	if (!m->rolled || !m->exact.n || !(sum > 0))
		return 1;
	return (long double)m->exact.series->total * (long double)time / sum;
}

/* What a last digit is missing by is the largest row's. */
static void add_up_to(int64_t total, int64_t *values, size_t n)
{
	size_t largest = 0;

	for (size_t i = 0; i < n; i++) {
		largest = values[i] > values[largest] ? i : largest;
		total -= values[i];
	}
	if (n && values[largest])
		values[largest] += total;
}

static void round_all(struct merging *m, const __int128 *held, int64_t time, int64_t *values,
		      size_t n)
{
	long double scale = exact_scale(m, held, n, time);

	for (size_t i = 0; i < n; i++)
		values[i] = round_on(
			m, scale == 1 ? held[i] : (__int128)((long double)held[i] * scale), time);
	if (m->rolled && m->exact.n)
		add_up_to(m->exact.series->total, values, n);
}

/* A gauge while it is divided among groups, by stack. */
struct levels {
	__int128 *held, *so_far; /* value × time: of all groups, and of those that are done */
	int64_t *values, *given; /* the same for the means */
	int64_t *part;		 /* of the group at hand */
};

static void levels_release(struct levels *l)
{
	mem_free(l->held);
	mem_free(l->so_far);
	mem_free(l->values);
	mem_free(l->given);
	mem_free(l->part);
}

/* A stack's mean is the same however it is grouped: groups share its units. */
static enum err emit_share(struct merging *m, uint32_t group, struct levels *l, size_t n)
{
	vec_for_each (cell, &m->total.list)
		if (m->buckets.v[cell->bucket].group == group)
			l->so_far[cell->stack] += cell->sum;
	for (size_t i = 0; i < n; i++) {
		long double done = (long double)l->so_far[i] / (long double)l->held[i];
		int64_t until = l->so_far[i] == l->held[i] || !l->held[i]
					? l->values[i]
					: llroundl((long double)l->values[i] * done);

		l->part[i] = until - l->given[i];
		l->given[i] = until;
	}
	return emit(m, group, l->part, n);
}

/* Values by the time they held, of all the time in which there was any. */
static enum err emit_levels(struct merging *m, int64_t time)
{
	CLEANUP(levels_release) struct levels l = {0};
	size_t n = m->dst->dict->stacks.entries.n;

	TRY(question_array(&m->q, n + 1, sizeof(*l.held), &l.held));
	TRY(question_array(&m->q, n + 1, sizeof(*l.so_far), &l.so_far));
	TRY(question_array(&m->q, n + 1, sizeof(*l.values), &l.values));
	TRY(question_array(&m->q, n + 1, sizeof(*l.given), &l.given));
	TRY(question_array(&m->q, n + 1, sizeof(*l.part), &l.part));
	vec_for_each (cell, &m->total.list)
		l.held[cell->stack] += cell->sum;
	round_all(m, l.held, time, l.values, n);
	for (uint32_t g = 0; g < m->grouping.groups.n; g++)
		TRY(emit_share(m, g, &l, n));
	return ERR_OK;
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

enum err merging_finish(struct merging *m)
{
	TRY(describe(m));
	if (m->q.gauge)
		return m->q.ask->covered_ns ? emit_levels(m, m->q.ask->covered_ns) : ERR_OK;
	for (size_t b = 0; b < m->buckets.n; b++)
		TRY(emit(m, m->buckets.v[b].group, m->buckets.v[b].total, m->buckets.v[b].total_n));
	return ERR_OK;
}
