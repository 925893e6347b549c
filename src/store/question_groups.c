/*
 * Groups by the values of labels, and series known by their content.
 */
#include "base/hash.h"
#include "store/question.h"

void grouping_release(struct grouping *g)
{
	vec_release(&g->groups);
	map_release(&g->index);
	map_release(&g->memo_index);
	vec_release(&g->memo);
}

void grouping_begin(struct grouping *g)
{
	map_clear(&g->memo_index);
	g->memo.n = 0;
}

static const struct label_pair *series_label(const struct partition *p, uint32_t series,
					     struct str name)
{
	if (series >= p->series.n)
		return NULL;
	for (uint32_t i = 0; i < p->series.v[series].n; i++)
		if (str_eq(p->series.v[series].labels[i].name, name))
			return &p->series.v[series].labels[i];
	return NULL;
}

/* The value of a label: the series' own, else that of the rows. False when neither has it. A
 * roll-up knows its service and nothing else. */
static enum err find_value(struct question *q, uint32_t series, uint32_t set, struct str name,
			   struct arena *arena, struct str *ret, bool *ret_has)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(1 << 20);
	const struct dict *d = &q->partition->dict;
	const struct label_pair *pair = series_label(q->partition, series, name);
	const struct label_pair service = {name, q->partition->service};
	const struct label *label = NULL;

	if (series == SERIES_MANY && str_eq(name, STR("service_name")))
		pair = &service;
	if (!pair && set < d->label_sets.entries.n)
		label = label_find(d, set, name);
	*ret_has = pair || label;
	if (!*ret_has)
		return ERR_OK;
	if (label)
		label_value(d, label, &text);
	TRY(buf_error(&text));
	*ret = arena_str(arena, pair ? pair->value : buf_view(&text));
	return ret->p ? ERR_OK : ERR_NO_MEMORY;
}

static bool tuples_equal(const struct label_tuple *a, const struct label_tuple *b)
{
	if (a->n != b->n)
		return false;
	for (size_t i = 0; i < a->n; i++)
		if (!str_eq(a->labels[i].name, b->labels[i].name) ||
		    !str_eq(a->labels[i].value, b->labels[i].value))
			return false;
	return true;
}

static enum err intern_tuple(struct grouping *g, struct question *q, struct label_tuple *tuple,
			     uint32_t *ret)
{
	tuple->hash = series_hash(tuple->labels, tuple->n, q->source->seed);
	MAP_PROBE(&g->index, tuple->hash, id)
	{
		if (tuples_equal(&g->groups.v[id], tuple)) {
			*ret = id;
			return ERR_OK;
		}
	}
	TRY(vec_reserve(&g->groups, 1));
	TRY(map_put(&g->index, tuple->hash, (uint32_t)g->groups.n));
	*ret = (uint32_t)g->groups.n;
	g->groups.v[g->groups.n++] = *tuple;
	return ERR_OK;
}

/* With the partition's lock held. Labels that are absent are left out. */
static enum err make_tuple(struct grouping *g, struct question *q, uint32_t series, uint32_t set,
			   struct label_tuple *ret)
{
	*ret = (struct label_tuple){0};
	ret->labels = arena_zalloc(&q->arena, g->name_count + 1, sizeof(*ret->labels));
	if (!ret->labels)
		return ERR_NO_MEMORY;
	for (size_t i = 0; i < g->name_count; i++) {
		struct label_pair *pair = &ret->labels[ret->n];
		bool has;

		TRY(find_value(q, series, set, g->names[i], &q->arena, &pair->value, &has));
		pair->name = g->names[i];
		ret->n += has;
	}
	return ERR_OK;
}

enum err grouping_find(struct grouping *g, struct question *q, uint32_t series, uint32_t label_set,
		       uint32_t *ret)
{
	struct group_memo memo = {.key = (uint64_t)series << 32 | label_set};
	uint64_t hash;
	struct label_tuple tuple;
	enum err e;

	if (!g->name_count)
		memo.key = 0;
	hash = hash_mix(memo.key, 1);
	MAP_PROBE(&g->memo_index, hash, id)
	{
		if (g->memo.v[id].key == memo.key) {
			*ret = g->memo.v[id].group;
			return ERR_OK;
		}
	}
	mutex_lock(&q->partition->lock);
	e = make_tuple(g, q, series, label_set, &tuple);
	mutex_unlock(&q->partition->lock);
	if (!e)
		e = intern_tuple(g, q, &tuple, &memo.group);
	if (e)
		return e;
	TRY(vec_push(&g->memo, memo));
	*ret = memo.group;
	return map_put(&g->memo_index, hash, (uint32_t)g->memo.n - 1);
}

bool grouping_fits_rollups(const struct grouping *g)
{
	for (size_t i = 0; i < g->name_count; i++)
		if (!str_eq(g->names[i], STR("service_name")))
			return false;
	return true;
}

void series_numbers_release(struct series_numbers *s)
{
	map_release(&s->index);
	vec_release(&s->hashes);
	vec_release(&s->profiles);
	vec_release(&s->local);
}

void series_numbers_begin(struct series_numbers *s)
{
	s->local.n = 0;
}

static enum err find_number(struct series_numbers *s, uint64_t hash, uint32_t *ret)
{
	*ret = map_get(&s->index, hash);
	if (*ret != MAP_NONE)
		return ERR_OK;
	TRY(vec_push(&s->hashes, hash));
	TRY(vec_push(&s->profiles, 0));
	*ret = (uint32_t)s->hashes.n - 1;
	return map_put(&s->index, hash, *ret);
}

enum err series_numbers_find(struct series_numbers *s, struct question *q, uint32_t series,
			     uint32_t *ret)
{
	uint64_t hash;

	if (series == SERIES_MANY)
		return find_number(s, 0, ret);
	if (series < s->local.n && s->local.v[series]) {
		*ret = s->local.v[series] - 1;
		return ERR_OK;
	}
	mutex_lock(&q->partition->lock);
	hash = q->partition->series.v[series].hash;
	mutex_unlock(&q->partition->lock);
	while (s->local.n <= series)
		TRY(vec_push(&s->local, 0));
	TRY(find_number(s, hash, ret));
	s->local.v[series] = *ret + 1;
	return ERR_OK;
}
