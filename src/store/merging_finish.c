#include "store/merging.h"

#include <math.h>
#include <stdlib.h>

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

/* Carries the rounding remainder of a stack over to the next: a hundred stacks with a mean of 0.01
 * become one unit, not zero. */
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

struct known_stack {
	__int128 held;
	uint64_t hash;
	uint32_t stack;
};

static int by_content(const void *left, const void *right)
{
	const struct known_stack *a = left, *b = right;

	if (a->held != b->held)
		return a->held > b->held ? -1 : 1;
	return (a->hash > b->hash) - (a->hash < b->hash);
}

/* Rounds the largest first, equal ones in order of hashes, so that the order is the same in every
 * result, independent of the dictionary and of grouping. Hashes alone would depend on the store's
 * seed. */
static enum err round_all(struct merging *m, const __int128 *held, int64_t time, int64_t *values,
			  size_t n)
{
	CLEANUP(mem_free_ptr) struct known_stack *order = NULL;
	size_t known = 0;

	TRY(question_array(&m->q, n + 1, sizeof(*order), &order));
	for (size_t i = 0; i < n; i++)
		if (held[i])
			order[known++] = (struct known_stack){
				held[i], stack_hash(m->dst->dict, (uint32_t)i), (uint32_t)i};
	if (known)
		qsort(order, known, sizeof(*order), by_content);
	for (size_t i = 0; i < known; i++)
		values[order[i].stack] = round_on(m, order[i].held, time);
	return ERR_OK;
}

/* Divides a gauge among groups, by stack. */
struct levels {
	__int128 *held, *so_far; /* value × time: of all groups, and of those done so far */
	int64_t *values, *given; /* the same for the means */
	int64_t *part;		 /* of the current group */
};

static void levels_release(struct levels *l)
{
	mem_free(l->held);
	mem_free(l->so_far);
	mem_free(l->values);
	mem_free(l->given);
	mem_free(l->part);
}

/* Divides a stack's rounded mean among groups, so that grouping never changes it. */
static enum err emit_share(struct merging *m, uint32_t group, struct levels *l, size_t n)
{
	gauge_cells_sum(&m->total, group, l->so_far, n);
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

static int by_labels(const void *left, const void *right, void *context)
{
	const struct merging *m = context;
	const struct label_tuple *a = &m->grouping.groups.v[*(const uint32_t *)left];
	const struct label_tuple *b = &m->grouping.groups.v[*(const uint32_t *)right];

	for (size_t i = 0; i < a->n && i < b->n; i++) {
		int order = str_cmp(a->labels[i].name, b->labels[i].name);

		order = order ? order : str_cmp(a->labels[i].value, b->labels[i].value);
		if (order)
			return order;
	}
	return (a->n > b->n) - (a->n < b->n);
}

/* Group by group in the order of their labels: which of them gets the rounding of a stack does not
 * depend on the order in which they were found. */
static enum err emit_groups(struct merging *m, struct levels *l, size_t n)
{
	CLEANUP(mem_free_ptr) uint32_t *order = NULL;
	size_t count = m->grouping.groups.n;

	TRY(question_array(&m->q, count + 1, sizeof(*order), &order));
	for (uint32_t g = 0; g < count; g++)
		order[g] = g;
	if (count)
		qsort_r(order, count, sizeof(*order), by_labels, m);
	for (size_t i = 0; i < count; i++)
		TRY(emit_share(m, order[i], l, n));
	return ERR_OK;
}

/* Means: value × time, divided by the total time of presence. */
static enum err emit_levels(struct merging *m, int64_t time)
{
	CLEANUP(levels_release) struct levels l = {0};
	size_t n = m->dst->dict->stacks.entries.n;

	TRY(question_array(&m->q, n + 1, sizeof(*l.held), &l.held));
	TRY(question_array(&m->q, n + 1, sizeof(*l.so_far), &l.so_far));
	TRY(question_array(&m->q, n + 1, sizeof(*l.values), &l.values));
	TRY(question_array(&m->q, n + 1, sizeof(*l.given), &l.given));
	TRY(question_array(&m->q, n + 1, sizeof(*l.part), &l.part));
	gauge_cells_sum(&m->total, 0, l.held, n);
	vec_for_each (cell, &m->total.list)
		l.held[cell->stack] += cell->sum;
	TRY(round_all(m, l.held, time, l.values, n));
	return emit_groups(m, &l, n);
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
	for (uint32_t g = 0; g < m->buckets.n; g++)
		TRY(emit(m, g, m->buckets.v[g].total, m->buckets.v[g].total_n));
	return ERR_OK;
}
