#include "store/series_index.h"

#include "base/hash.h"

struct series_mark series_mark_of(const struct partition_mark *m)
{
	return (struct series_mark){m->types, m->series, m->pairs, m->labels};
}

bool series_mark_equal(const struct series_mark *a, const struct series_mark *b)
{
	return a->types == b->types && a->series == b->series && a->pairs == b->pairs &&
	       a->labels == b->labels;
}

enum err series_index_init(struct series_index *x, uint64_t seed)
{
	*x = (struct series_index){.seed = seed};
	return vec_push(&x->type_sets, (struct index_type_set){0});
}

static void service_release(struct index_service *s)
{
	vec_release(&s->series);
	vec_release(&s->types);
	vec_release(&s->labels);
	vec_release(&s->names);
}

void series_index_release(struct series_index *x)
{
	vec_for_each (s, &x->services)
		service_release(s);
	vec_release(&x->services);
	vec_release(&x->texts);
	vec_release(&x->labels);
	vec_release(&x->by_value);
	vec_release(&x->types);
	vec_release(&x->type_sets);
	vec_release(&x->type_pool);
	vec_release(&x->series);
	vec_release(&x->label_pool);
	vec_release(&x->scratch);
	map_release(&x->text_map);
	map_release(&x->label_map);
	map_release(&x->type_map);
	map_release(&x->type_set_map);
	map_release(&x->service_map);
	arena_release(&x->arena);
}

static size_t map_bytes(const struct map *m)
{
	return m->slots ? ((size_t)m->mask + 1) * sizeof(*m->slots) : 0;
}

#define VEC_BYTES(vec) ((vec)->cap * sizeof(*(vec)->v))

size_t series_index_memory(const struct series_index *x)
{
	return sizeof(*x) + x->arena.used + VEC_BYTES(&x->texts) + map_bytes(&x->text_map) +
	       VEC_BYTES(&x->labels) + map_bytes(&x->label_map) + VEC_BYTES(&x->by_value) +
	       VEC_BYTES(&x->types) + map_bytes(&x->type_map) + VEC_BYTES(&x->type_sets) +
	       VEC_BYTES(&x->type_pool) + map_bytes(&x->type_set_map) + VEC_BYTES(&x->series) +
	       VEC_BYTES(&x->label_pool) + VEC_BYTES(&x->services) + map_bytes(&x->service_map) +
	       x->service_bytes;
}

/* ------------------------------------------------------------------ tables */

static uint32_t find_text(const struct series_index *x, struct str text, uint64_t hash)
{
	MAP_PROBE(&x->text_map, hash, id)
	{
		if (str_eq(x->texts.v[id], text))
			return id;
	}
	return MAP_NONE;
}

uint32_t series_index_text(const struct series_index *x, struct str text)
{
	return find_text(x, text, hash_str(text, x->seed));
}

enum err series_index_add_text(struct series_index *x, struct str text, uint32_t *ret)
{
	uint64_t hash = hash_str(text, x->seed);
	struct str copy = {.n = text.n};

	*ret = find_text(x, text, hash);
	if (*ret != MAP_NONE)
		return ERR_OK;
	copy.p = arena_copy(&x->arena, text);
	if (!copy.p)
		return ERR_NO_MEMORY;
	*ret = (uint32_t)x->texts.n;
	TRY(vec_push(&x->texts, copy));
	return map_put(&x->text_map, hash, *ret);
}

enum err series_index_add_label(struct series_index *x, struct index_label label, uint32_t *ret)
{
	uint64_t hash = hash_mix((uint64_t)label.name << 32 | label.value, x->seed);

	MAP_PROBE(&x->label_map, hash, id)
	{
		*ret = id;
		if (x->labels.v[id].name == label.name && x->labels.v[id].value == label.value)
			return ERR_OK;
	}
	*ret = (uint32_t)x->labels.n;
	TRY(vec_push(&x->labels, label));
	return map_put(&x->label_map, hash, *ret);
}

enum err series_index_add_type(struct series_index *x, struct str id, uint32_t *ret)
{
	struct index_type fresh = {.hash = hash_str(id, x->seed)};
	uint64_t hash = fresh.hash;

	MAP_PROBE(&x->type_map, hash, type)
	{
		*ret = type;
		if (str_eq(x->texts.v[x->types.v[type].text], id))
			return ERR_OK;
	}
	TRY(series_index_add_text(x, id, &fresh.text));
	fresh.gauge = type_id_means(id);
	fresh.derived = type_is_derived(id);
	*ret = (uint32_t)x->types.n;
	TRY(vec_push(&x->types, fresh));
	return map_put(&x->type_map, hash, *ret);
}

static uint64_t set_hash(const uint32_t *types, uint32_t n)
{
	uint64_t hash = n;

	for (uint32_t i = 0; i < n; i++)
		hash = hash_mix(hash, types[i]);
	return hash;
}

/* The types are the last of the pool. */
static enum err intern_set(struct series_index *x, uint32_t at, uint32_t n, uint32_t *ret)
{
	const uint32_t *types = x->type_pool.v + at;
	uint64_t hash = set_hash(types, n);

	MAP_PROBE(&x->type_set_map, hash, id)
	{
		const struct index_type_set *s = &x->type_sets.v[id];

		*ret = id;
		if (s->n == n && !memcmp(x->type_pool.v + s->at, types, n * sizeof(*types))) {
			x->type_pool.n = at;
			return ERR_OK;
		}
	}
	*ret = (uint32_t)x->type_sets.n;
	TRY(vec_push(&x->type_sets, ((struct index_type_set){at, n})));
	return map_put(&x->type_set_map, hash, *ret);
}

enum err series_index_add_to_set(struct series_index *x, uint32_t set, uint32_t type, uint32_t *ret)
{
	struct index_type_set old = x->type_sets.v[set];
	uint32_t at = (uint32_t)x->type_pool.n, k = 0;

	TRY(vec_reserve(&x->type_pool, (size_t)old.n + 1));
	while (k < old.n && x->type_pool.v[old.at + k] < type)
		x->type_pool.v[x->type_pool.n++] = x->type_pool.v[old.at + k++];
	if (k < old.n && x->type_pool.v[old.at + k] == type) {
		x->type_pool.n = at;
		*ret = set;
		return ERR_OK;
	}
	x->type_pool.v[x->type_pool.n++] = type;
	while (k < old.n)
		x->type_pool.v[x->type_pool.n++] = x->type_pool.v[old.at + k++];
	return intern_set(x, at, old.n + 1, ret);
}

/* ------------------------------------------------------------------ services */

static uint64_t id_hash(uint32_t id)
{
	return hash_mix(id, 1);
}

struct index_service *series_index_service(const struct series_index *x, uint32_t id)
{
	uint32_t at = map_get(&x->service_map, id_hash(id));

	return at != MAP_NONE && x->services.v[at].id == id ? &x->services.v[at] : NULL;
}

enum err series_index_add_service(struct series_index *x, uint32_t id, struct index_service **ret)
{
	struct index_service fresh = {.id = id, .end = SERIES_MARK_BASE};

	*ret = series_index_service(x, id);
	if (*ret)
		return ERR_OK;
	TRY(vec_push(&x->services, fresh));
	TRY(map_put(&x->service_map, id_hash(id), (uint32_t)x->services.n - 1));
	*ret = &x->services.v[x->services.n - 1];
	return ERR_OK;
}

void series_index_forget(struct series_index *x, uint32_t id)
{
	struct index_service *s = series_index_service(x, id);

	if (!s)
		return;
	s->series.n = s->types.n = s->labels.n = s->names.n = 0;
	s->more_names = false;
	s->end = SERIES_MARK_BASE;
}

bool index_service_has_name(const struct series_index *x, const struct index_service *s,
			    uint32_t name)
{
	vec_for_each (known, &s->names)
		if (*known == name)
			return true;
	for (size_t i = 0; s->more_names && i < s->labels.n; i++)
		if (x->labels.v[s->labels.v[i]].name == name)
			return true;
	return false;
}

void series_index_widen(struct series_index *x, uint32_t id, uint32_t local, int64_t first_ns,
			int64_t last_ns)
{
	struct index_service *service = series_index_service(x, id);
	struct index_series *s;

	if (!service || local >= service->series.n)
		return;
	s = &x->series.v[service->series.v[local]];
	if ((!s->first_ns && !s->last_ns) || first_ns < s->first_ns)
		s->first_ns = first_ns;
	if (last_ns > s->last_ns)
		s->last_ns = last_ns;
}
