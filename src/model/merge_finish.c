/*
 * The steps of a merge that depend on all profiles: means of gauges, and common resource
 * attributes.
 */
#include "base/hash.h"
#include "model/merge_state.h"
#include "model/types.h"
#include "model/values.h"

static int64_t divide_to_nearest(int64_t value, int64_t by)
{
	int64_t quotient = value / by, rest = value % by;

	if (rest >= by - rest)
		return quotient + 1;
	if (-rest >= by + rest)
		return quotient - 1;
	return quotient;
}

static void average_gauges(struct merge *m)
{
	struct profile *p = m->dst;

	for (uint32_t t = 0; t < p->type_count; t++) {
		if (!type_is_gauge(dict_str(p->dict, p->types[t].type),
				   dict_str(p->dict, p->types[t].unit)))
			continue;
		for (size_t i = 0; i < p->row_count; i++) {
			const struct series *s = &m->state->series.v[m->state->rows.group.v[i]];
			int64_t *value = &p->values[i * p->type_count + t];

			if (s->profiles[t] > 1)
				*value = divide_to_nearest(*value, s->profiles[t]);
		}
	}
}

/* The number of series with each label. */
static uint32_t *count_labels(const struct merge *m)
{
	const struct dict *d = m->dst->dict;
	uint32_t *counts = mem_zalloc(d->labels.n, sizeof(*counts));

	for (size_t s = 0; counts && s < m->state->series.n; s++) {
		uint32_t n;
		const uint32_t *items = label_set_items(d, m->state->series.v[s].resource, &n);

		for (uint32_t i = 0; i < n; i++)
			counts[items[i]]++;
	}
	return counts;
}

/* A set's labels, and those of a resource that all series have, or (not common) that not all do. */
static enum err join_labels(struct dict *d, uint32_t set, uint32_t resource, const uint32_t *counts,
			    size_t all, bool common, uint32_t *ret)
{
	VEC(uint32_t) joined = {0};
	uint32_t n, extra;
	const uint32_t *items = label_set_items(d, set, &n);
	const uint32_t *more = label_set_items(d, resource, &extra);
	enum err e = vec_append(&joined, items, n);

	for (uint32_t i = 0; !e && i < extra; i++)
		if ((counts[more[i]] >= all) == common)
			e = vec_push(&joined, more[i]);
	if (!e)
		e = dict_label_set(d, joined.v, (uint32_t)joined.n, ret);
	vec_release(&joined);
	return e;
}

/* Gives rows the resource attributes that set their series apart from the others. */
static enum err label_rows(struct merge *m, const uint32_t *counts)
{
	CLEANUP(map_release) struct map memo = {0};
	struct profile *p = m->dst;
	size_t all = m->state->series.n;

	for (size_t i = 0; i < p->row_count; i++) {
		uint32_t series = m->state->rows.group.v[i], set;
		/* The pair itself is the key, spread over the table. */
		uint64_t key = ((uint64_t)series << 32 | p->labels[i]) * HASH_K1;

		key ^= key >> 32;
		set = map_get(&memo, key);
		if (set == MAP_NONE) {
			TRY(join_labels(p->dict, p->labels[i], m->state->series.v[series].resource,
					counts, all, false, &set));
			TRY(map_put(&memo, key, set));
		}
		p->labels[i] = set;
	}
	return ERR_OK;
}

static enum err settle_resources(struct merge *m)
{
	CLEANUP(mem_free_ptr) uint32_t *counts = NULL;
	struct profile *p = m->dst, joined;

	if (m->state->series.n == 1)
		p->resource = m->state->series.v[0].resource;
	if (m->state->series.n < 2)
		return ERR_OK;
	counts = count_labels(m);
	if (!counts)
		return ERR_NO_MEMORY;
	TRY(join_labels(p->dict, 0, m->state->series.v[0].resource, counts, m->state->series.n,
			true, &p->resource));
	TRY(label_rows(m, counts));
	TRY(profile_aggregate(p, 0, &joined));
	profile_release(p);
	*p = joined;
	return ERR_OK;
}

/* The measured column of the same type, in the same unit; or MAP_NONE. */
static uint32_t find_measured(struct profile *p, uint32_t derived)
{
	for (uint32_t t = 0; t < p->type_count; t++) {
		int64_t ratio;

		if (p->derived >> t & 1 || p->types[t].type != p->types[derived].type)
			continue;
		ratio = merge_unit_ratio(p->dict, p->types[derived].unit, p->types[t].unit);
		if (ratio > 0)
			merge_scale_column(p, derived, ratio);
		else if (ratio < 0)
			merge_scale_column(p, t, -ratio);
		if (ratio < 0)
			p->types[t].unit = p->types[derived].unit;
		if (ratio)
			return t;
	}
	return MAP_NONE;
}

/* A computed column counts for the producers that have not measured it. */
static void settle_derived(struct merge *m)
{
	struct profile *p = m->dst;

	for (uint32_t t = p->type_count; p->derived && t-- > 0;) {
		uint32_t measured = p->derived >> t & 1 ? find_measured(p, t) : MAP_NONE;

		if (measured == MAP_NONE)
			continue;
		for (size_t i = 0; i < p->row_count; i++) {
			const struct series *s = &m->state->series.v[m->state->rows.group.v[i]];
			int64_t *values = &p->values[i * p->type_count];

			if (!s->profiles[measured])
				values[measured] = value_add(values[measured], values[t]);
		}
		if (p->default_type == (int)t)
			p->default_type = (int)measured;
		profile_drop_column(p, t);
	}
}

enum err merge_finish(struct merge *m)
{
	enum err e = ERR_OK;

	if (m->state) {
		if (!m->sum_gauges)
			average_gauges(m);
		settle_derived(m);
		e = settle_resources(m);
	}
	merge_release(m);
	return e;
}
