#include "format/otlp_groups.h"

#include "base/hash.h"

static bool range_equal(const struct otlp_tables *t, struct otlp_range a, struct otlp_range b)
{
	return a.n == b.n && (!a.n || memcmp(t->indices.v + a.at, t->indices.v + b.at,
					     a.n * sizeof(*t->indices.v)) == 0);
}

static bool sample_keys_equal(const struct otlp_tables *t, const struct otlp_sample *a,
			      const struct otlp_sample *b)
{
	return a->stack == b->stack && a->link == b->link && a->times.n == b->times.n &&
	       range_equal(t, a->attributes, b->attributes) &&
	       (!a->times.n || memcmp(t->times.v + a->times.at, t->times.v + b->times.at,
				      a->times.n * sizeof(*t->times.v)) == 0);
}

/* By content, because a table may contain a string twice. */
static bool same_text(const struct otlp_tables *t, int32_t a, int32_t b)
{
	if (a == b)
		return true;
	return a >= 0 && b >= 0 && (size_t)a < t->strings.n && (size_t)b < t->strings.n &&
	       str_eq(t->strings.v[a], t->strings.v[b]);
}

static bool same_type(const struct otlp_tables *t, struct otlp_value_type a,
		      struct otlp_value_type b)
{
	return same_text(t, a.type, b.type) && same_text(t, a.unit, b.unit);
}

static bool heads_equal(const struct otlp_tables *t, const struct otlp_profile *a,
			const struct otlp_profile *b)
{
	return a->time == b->time && a->duration == b->duration && a->period == b->period &&
	       same_type(t, a->period_type, b->period_type) && !a->payload.n && !b->payload.n &&
	       range_equal(t, a->attributes, b->attributes) &&
	       range_equal(t, a->comments, b->comments);
}

static bool profiles_join(const struct otlp_tables *t, const struct otlp_profile *a,
			  const struct otlp_profile *b)
{
	if (a->samples.n != b->samples.n || !heads_equal(t, a, b))
		return false;
	for (uint32_t i = 0; i < a->samples.n; i++)
		if (!sample_keys_equal(t, &t->samples.v[a->samples.at + i],
				       &t->samples.v[b->samples.at + i]))
			return false;
	return true;
}

static uint64_t profile_key(const struct otlp_grouping *all, const struct otlp_profile *p)
{
	const struct otlp_tables *t = all->t;
	uint64_t hash = hash_mix(p->time ^ all->seed, p->duration ^ all->seed) ^
			hash_mix(p->samples.n, (uint64_t)p->period ^ all->seed);

	for (uint32_t i = 0; i < p->samples.n; i++) {
		const struct otlp_sample *s = &t->samples.v[p->samples.at + i];

		hash = hash_mix(hash, (uint64_t)(uint32_t)s->stack << 32 | (uint32_t)s->link);
		hash += s->attributes.n + s->times.n;
	}
	return hash;
}

uint32_t otlp_next_member(const struct otlp_grouping *all, uint32_t index)
{
	return all->next[index - all->profiles.at];
}

static bool has_type(const struct otlp_grouping *all, const struct otlp_group *g,
		     struct otlp_value_type type)
{
	for (uint32_t i = g->first;; i = otlp_next_member(all, i)) {
		if (same_type(all->t, all->t->profiles.v[i].sample_type, type))
			return true;
		if (i == g->last)
			return false;
	}
}

static bool group_accepts(const struct otlp_grouping *all, const struct otlp_group *g,
			  uint32_t index)
{
	const struct otlp_profile *list = all->t->profiles.v;

	return g->n < PROFILE_MAX_TYPES && !has_type(all, g, list[index].sample_type) &&
	       profiles_join(all->t, &list[g->first], &list[index]);
}

/* Only the newest group under a key may grow, so that the cost stays linear in the file. */
enum err otlp_group_add(struct otlp_grouping *all, uint32_t index)
{
	uint64_t key = profile_key(all, &all->t->profiles.v[index]);
	struct otlp_group fresh = {.first = index, .last = index, .n = 1};
	uint32_t place = map_get(&all->keys, key);

	if (place != MAP_NONE) {
		struct otlp_group *g = &all->groups.v[all->newest.v[place]];

		if (group_accepts(all, g, index)) {
			all->next[g->last - all->profiles.at] = index;
			g->last = index;
			g->n++;
			return ERR_OK;
		}
		all->newest.v[place] = (uint32_t)all->groups.n;
	} else {
		TRY(vec_push(&all->newest, (uint32_t)all->groups.n));
		TRY(map_put(&all->keys, key, (uint32_t)all->newest.n - 1));
	}
	return vec_push(&all->groups, fresh);
}

/* A row of a joined profile has a value for every type, most of them zero where stacks differ: a
 * small file must not become a large model. */
#define MAX_JOINED 4

/* Whether the types of `b` are none of those joined to `a`, and all have room in one profile. */
static bool types_fit(const struct otlp_grouping *all, const struct otlp_group *a,
		      const struct otlp_group *b)
{
	uint32_t n = b->n, groups = 1;

	for (;; a = &all->groups.v[a->joined - 1], groups++) {
		n += a->n;
		for (uint32_t i = b->first;; i = otlp_next_member(all, i)) {
			if (has_type(all, a, all->t->profiles.v[i].sample_type))
				return false;
			if (i == b->last)
				break;
		}
		if (!a->joined)
			return n < PROFILE_MAX_TYPES && groups < MAX_JOINED;
	}
}

static void join_behind(struct otlp_grouping *all, uint32_t first, uint32_t group)
{
	struct otlp_group *last = &all->groups.v[first];

	while (last->joined)
		last = &all->groups.v[last->joined - 1];
	last->joined = group + 1;
	all->groups.v[group].follows = true;
}

/* What two samplers took with a period in common: counts of samples and their time. Only the newest
 * under a key may grow, here too. */
enum err otlp_groups_join(struct otlp_grouping *all)
{
	CLEANUP(map_release) struct map keys = {0};
	const struct otlp_profile *list = all->t->profiles.v;
	CLEANUP(mem_free_ptr)
	uint32_t *newest = NULL;
	uint32_t n = 0;

	if (all->groups.n < 2)
		return ERR_OK;
	newest = mem_zalloc(all->groups.n, sizeof(*newest));
	if (!newest)
		return ERR_NO_MEMORY;
	for (uint32_t i = 0; i < all->groups.n; i++) {
		const struct otlp_group *g = &all->groups.v[i];
		const struct otlp_profile *p = &list[g->first];
		uint64_t key = hash_mix(p->time ^ all->seed, p->duration ^ all->seed) ^
			       hash_mix((uint64_t)p->period, all->seed);
		uint32_t place = map_get(&keys, key);

		if (p->period <= 0 || !p->samples.n)
			continue;
		if (place == MAP_NONE) {
			TRY(map_put(&keys, key, n));
			newest[n++] = i;
		} else if (heads_equal(all->t, &list[all->groups.v[newest[place]].first], p) &&
			   types_fit(all, &all->groups.v[newest[place]], g)) {
			join_behind(all, newest[place], i);
		} else {
			newest[place] = i;
		}
	}
	return ERR_OK;
}

void otlp_grouping_release(struct otlp_grouping *all)
{
	mem_free(all->next);
	vec_release(&all->groups);
	vec_release(&all->newest);
	map_release(&all->keys);
}
