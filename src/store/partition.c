#include "store/partition.h"

#include "base/hash.h"

enum err partition_new(struct str tenant, struct str service, int64_t day, uint64_t seed,
		       struct quota *quota, struct partition **ret)
{
	static atomic_ullong made;
	struct partition *p = mem_zalloc(1, sizeof(*p));
	enum err e;

	if (!p)
		return ERR_NO_MEMORY;
	e = dict_init(&p->dict, seed);
	if (e) {
		mem_free(p);
		return e;
	}
	mutex_init(&p->lock);
	p->tenant = str_n(arena_copy(&p->arena, tenant), tenant.n);
	p->service = str_n(arena_copy(&p->arena, service), service.n);
	p->day = day;
	p->quota = quota;
	p->order = atomic_fetch_add(&made, 1);
	p->persisted = p->prepared = partition_mark(p);
	if (!p->tenant.p || !p->service.p) {
		partition_free(p);
		return ERR_NO_MEMORY;
	}
	*ret = p;
	return ERR_OK;
}

void prepared_delta_free(struct prepared_delta *d)
{
	if (!d)
		return;
	buf_release(&d->dictionary);
	buf_release(&d->index);
	mem_free(d);
}

void partition_limit(struct partition *p, const struct store_limits *limits)
{
	p->dict.max_depth = limits->max_depth;
	p->dict.max_stacks =
		limits->max_stacks < UINT32_MAX ? (uint32_t)limits->max_stacks : UINT32_MAX;
	p->dict.cut_stacks = p->dict.refused_stacks = 0;
}

void partition_free(struct partition *p)
{
	if (!p)
		return;
	while (p->prepared_first) {
		struct prepared_delta *d = p->prepared_first;

		p->prepared_first = d->next;
		prepared_delta_free(d);
	}
	dict_release(&p->dict);
	vec_release(&p->series);
	map_release(&p->series_index);
	vec_release(&p->types);
	map_release(&p->type_index);
	vec_release(&p->pairs);
	map_release(&p->pair_index);
	arena_release(&p->arena);
	mutex_release(&p->lock);
	mem_free(p);
}

static size_t map_memory(const struct map *m)
{
	return m->slots ? ((size_t)m->mask + 1) * sizeof(*m->slots) : 0;
}

#define TABLE_MEMORY(table)                                                          \
	((table)->cap * sizeof(*(table)->v) + (table)->hash.cap * sizeof(uint64_t) + \
	 map_memory(&(table)->index))

static size_t sequence_memory(const struct sequence_table *t)
{
	return t->pool.cap * sizeof(*t->pool.v) + t->entries.cap * sizeof(*t->entries.v) +
	       map_memory(&t->index);
}

size_t partition_memory(const struct partition *p)
{
	const struct dict *d = &p->dict;

	return sizeof(*p) + atomic_load(&p->prepared_bytes) + STACK_MULTIPLIERS * sizeof(uint64_t) +
	       d->bytes.cap + TABLE_MEMORY(&d->strings) + TABLE_MEMORY(&d->functions) +
	       TABLE_MEMORY(&d->mappings) + TABLE_MEMORY(&d->frames) + TABLE_MEMORY(&d->labels) +
	       TABLE_MEMORY(&d->links) + sequence_memory(&d->stacks) +
	       sequence_memory(&d->label_sets) + p->arena.used +
	       p->series.cap * sizeof(*p->series.v) + map_memory(&p->series_index) +
	       p->pairs.cap * sizeof(*p->pairs.v) + map_memory(&p->pair_index);
}

uint64_t series_hash(const struct label_pair *labels, size_t n, uint64_t seed)
{
	uint64_t hash = hash_mix(seed, n);

	for (size_t i = 0; i < n; i++)
		hash = hash_mix(hash ^ hash_str(labels[i].name, seed),
				hash_str(labels[i].value, seed ^ HASH_K1));
	return hash;
}

static bool labels_equal(const struct series_entry *s, const struct label_pair *labels, size_t n)
{
	if (s->n != n)
		return false;
	for (size_t i = 0; i < n; i++)
		if (!str_eq(s->labels[i].name, labels[i].name) ||
		    !str_eq(s->labels[i].value, labels[i].value))
			return false;
	return true;
}

static uint32_t find_series(const struct partition *p, uint64_t hash,
			    const struct label_pair *labels, size_t n)
{
	MAP_PROBE(&p->series_index, hash, id)
	{
		if (labels_equal(&p->series.v[id], labels, n))
			return id;
	}
	return MAP_NONE;
}

uint32_t partition_find_series(const struct partition *p, const struct label_pair *labels, size_t n)
{
	return find_series(p, series_hash(labels, n, p->dict.seed), labels, n);
}

static enum err check_labels(const struct label_pair *labels, size_t n,
			     const struct store_limits *limits, struct fault *fault)
{
	if (n > limits->max_labels)
		return fault_set(fault, ERR_TOO_LARGE,
				 "the profile has %zu labels, and at most %u are taken", n,
				 limits->max_labels);
	for (size_t i = 0; i < n; i++) {
		struct str name = labels[i].name, value = labels[i].value;

		if (!name.n || (i && str_cmp(labels[i - 1].name, name) >= 0))
			return fault_set(fault, ERR_BAD_ARGUMENT,
					 "labels must have different names, in order");
		if (name.n > limits->max_label_name)
			return fault_set(fault, ERR_TOO_LARGE,
					 "the label name \"%.32s…\" has %zu bytes, and at most %u "
					 "are taken",
					 name.p, name.n, limits->max_label_name);
		if (value.n > limits->max_label_value)
			return fault_set(fault, ERR_TOO_LARGE,
					 "the value of label \"%.*s\" has %zu bytes, and at most "
					 "%u are taken",
					 (int)name.n, name.p, value.n, limits->max_label_value);
	}
	return ERR_OK;
}

static struct label_pair *copy_labels(struct arena *a, const struct label_pair *labels, size_t n)
{
	struct label_pair *copy = arena_zalloc(a, n + 1, sizeof(*copy));

	for (size_t i = 0; copy && i < n; i++) {
		copy[i].name = str_n(arena_copy(a, labels[i].name), labels[i].name.n);
		copy[i].value = str_n(arena_copy(a, labels[i].value), labels[i].value.n);
		if (!copy[i].name.p || !copy[i].value.p)
			return NULL;
	}
	return copy;
}

enum err partition_series(struct partition *p, const struct label_pair *labels, size_t n,
			  const struct store_limits *limits, uint32_t *ret, struct fault *fault)
{
	uint64_t hash = series_hash(labels, n, p->dict.seed);
	struct series_entry entry = {.hash = hash, .n = (uint32_t)n};

	*ret = find_series(p, hash, labels, n);
	if (*ret != MAP_NONE)
		return ERR_OK;
	if (limits) {
		TRY(check_labels(labels, n, limits, fault));
		if (p->quota && atomic_load(&p->quota->series) >= limits->max_series)
			return fault_set(fault, ERR_TOO_LARGE,
					 "there are already %u series today, and more are refused: "
					 "give profiles fewer different label values",
					 limits->max_series);
	}
	entry.labels = copy_labels(&p->arena, labels, n);
	if (!entry.labels)
		return ERR_NO_MEMORY;
	TRY(vec_reserve(&p->series, 1));
	TRY(map_put(&p->series_index, hash, (uint32_t)p->series.n));
	if (p->quota)
		atomic_fetch_add(&p->quota->series, 1);
	*ret = (uint32_t)p->series.n;
	p->series.v[p->series.n++] = entry;
	return ERR_OK;
}

uint32_t partition_find_type(const struct partition *p, struct str id)
{
	uint64_t hash = hash_str(id, p->dict.seed);

	MAP_PROBE(&p->type_index, hash, type)
	{
		if (str_eq(p->types.v[type].id, id))
			return type;
	}
	return MAP_NONE;
}

/* The second and the third part of a type id say what is measured, and in which unit. */
bool type_id_means(struct str id)
{
	struct str name, type = {0}, unit = {0};

	str_split(&id, ':', &name);
	str_split(&id, ':', &type);
	str_split(&id, ':', &unit);
	return type_is_gauge(type, unit);
}

enum err partition_type(struct partition *p, struct str id, uint32_t *ret)
{
	struct type_entry entry = {.hash = hash_str(id, p->dict.seed)};

	*ret = partition_find_type(p, id);
	if (*ret != MAP_NONE)
		return ERR_OK;
	entry.id = str_n(arena_copy(&p->arena, id), id.n);
	if (!entry.id.p)
		return ERR_NO_MEMORY;
	entry.gauge = type_id_means(id);
	TRY(vec_reserve(&p->types, 1));
	TRY(map_put(&p->type_index, entry.hash, (uint32_t)p->types.n));
	*ret = (uint32_t)p->types.n;
	p->types.v[p->types.n++] = entry;
	return ERR_OK;
}

static uint64_t pair_hash(uint32_t series, uint32_t type)
{
	return hash_mix((uint64_t)series << 32 | type, 1);
}

bool partition_has_pair(const struct partition *p, uint32_t series, uint32_t type)
{
	MAP_PROBE(&p->pair_index, pair_hash(series, type), id)
	{
		if (p->pairs.v[id].series == series && p->pairs.v[id].type == type)
			return true;
	}
	return false;
}

enum err partition_pair(struct partition *p, uint32_t series, uint32_t type)
{
	struct series_type pair = {series, type};

	if (partition_has_pair(p, series, type))
		return ERR_OK;
	TRY(vec_reserve(&p->pairs, 1));
	TRY(map_put(&p->pair_index, pair_hash(series, type), (uint32_t)p->pairs.n));
	p->pairs.v[p->pairs.n++] = pair;
	return ERR_OK;
}
