#include "model/dict.h"

#include <stdlib.h>

#include "base/hash.h"

#define MAX_IDS	  ((size_t)UINT32_MAX - 1)
#define SHORT_SET 16

static const char *const fixed_strings[STR_FIXED_COUNT_] = {
	[STR_EMPTY] = "",     [KIND_NATIVE] = "native", [KIND_KERNEL] = "kernel",
	[KIND_GO] = "go",     [KIND_JVM] = "jvm",	[KIND_CPYTHON] = "cpython",
	[KIND_V8JS] = "v8js", [KIND_RUBY] = "ruby",	[KIND_PHP] = "php",
	[KIND_PERL] = "perl", [KIND_DOTNET] = "dotnet", [KIND_BEAM] = "beam",
	[KIND_RUST] = "rust", [KIND_LUAJIT] = "luajit",
};

/*
 * Appends an entry to a table with its hash. When any of the three steps fails nothing is kept:
 * the map comes last, and the arrays only count what the map can find.
 */
#define TABLE_ADD(table, entry, hash_value, ret)                                                 \
	({                                                                                       \
		enum err add_error_ = ERR_OK;                                                    \
		if ((table)->n >= d->max_ids)                                                    \
			add_error_ = ERR_TABLE_FULL;                                             \
		if (!add_error_)                                                                 \
			add_error_ = vec_reserve(table, 1);                                      \
		if (!add_error_)                                                                 \
			add_error_ = vec_reserve(&(table)->hash, 1);                             \
		if (!add_error_)                                                                 \
			add_error_ = map_put(&(table)->index, hash_value, (uint32_t)(table)->n); \
		if (!add_error_) {                                                               \
			(table)->hash.v[(table)->hash.n++] = (hash_value);                       \
			(table)->v[(table)->n] = (entry);                                        \
			*(ret) = (uint32_t)(table)->n++;                                         \
		}                                                                                \
		add_error_;                                                                      \
	})

#define TABLE_RELEASE(table)                  \
	do {                                  \
		vec_release(table);           \
		vec_release(&(table)->hash);  \
		map_release(&(table)->index); \
	} while (0)

struct str dict_str(const struct dict *d, uint32_t string)
{
	const struct string_entry *entry = &d->strings.v[string];

	return (struct str){d->bytes.v + entry->at, entry->n};
}

static uint64_t string_hash(const struct dict *d, uint32_t string)
{
	return d->strings.hash.v[string];
}

enum err dict_hashed_string(struct dict *d, struct str s, uint64_t hash, uint32_t *ret)
{
	struct string_entry entry = {.at = d->bytes.n, .n = (uint32_t)s.n};

	if (s.n >= UINT32_MAX)
		return ERR_TOO_LARGE;
	MAP_PROBE(&d->strings.index, hash, id)
	{
		if (str_eq(dict_str(d, id), s)) {
			*ret = id;
			return ERR_OK;
		}
	}
	/* Room for the bytes first: a string in the table always has them. */
	TRY(vec_reserve(&d->bytes, s.n + 1));
	TRY(TABLE_ADD(&d->strings, entry, hash, ret));
	if (s.n)
		memcpy(d->bytes.v + d->bytes.n, s.p, s.n);
	d->bytes.v[d->bytes.n + s.n] = '\0';
	d->bytes.n += s.n + 1;
	return ERR_OK;
}

enum err dict_string(struct dict *d, struct str s, uint32_t *ret)
{
	return dict_hashed_string(d, s, content_string(d, s), ret);
}

enum err dict_text(struct dict *d, const char *text, uint32_t *ret)
{
	return dict_string(d, str_of(text), ret);
}

static bool function_equal(const struct function *a, const struct function *b)
{
	return a->name == b->name && a->system_name == b->system_name && a->file == b->file &&
	       a->start_line == b->start_line;
}

enum err dict_hashed_function(struct dict *d, const struct function *f, uint64_t hash,
			      uint32_t *ret)
{
	MAP_PROBE(&d->functions.index, hash, id)
	{
		if (function_equal(&d->functions.v[id], f)) {
			*ret = id;
			return ERR_OK;
		}
	}
	return TABLE_ADD(&d->functions, *f, hash, ret);
}

enum err dict_function(struct dict *d, const struct function *f, uint32_t *ret)
{
	uint64_t hash = content_function(string_hash(d, f->name), string_hash(d, f->system_name),
					 string_hash(d, f->file), f->start_line);

	return dict_hashed_function(d, f, hash, ret);
}

static bool mapping_equal(const struct mapping *a, const struct mapping *b)
{
	return a->start == b->start && a->limit == b->limit && a->offset == b->offset &&
	       a->file == b->file && a->build_id == b->build_id &&
	       a->go_build_id == b->go_build_id && a->htl_hash == b->htl_hash &&
	       a->flags == b->flags;
}

enum err dict_mapping(struct dict *d, const struct mapping *m, uint32_t *ret)
{
	uint64_t hash =
		content_mapping(m, string_hash(d, m->file), string_hash(d, m->build_id),
				string_hash(d, m->go_build_id), string_hash(d, m->htl_hash));

	MAP_PROBE(&d->mappings.index, hash, id)
	{
		if (mapping_equal(&d->mappings.v[id], m)) {
			*ret = id;
			return ERR_OK;
		}
	}
	return TABLE_ADD(&d->mappings, *m, hash, ret);
}

static bool frame_equal(const struct frame *a, const struct frame *b)
{
	return a->address == b->address && a->line == b->line && a->function == b->function &&
	       a->mapping == b->mapping && a->column == b->column && a->kind == b->kind &&
	       a->flags == b->flags;
}

enum err dict_frame(struct dict *d, const struct frame *f, uint32_t *ret)
{
	uint64_t hash = content_frame(f, d->functions.hash.v[f->function],
				      d->mappings.hash.v[f->mapping], string_hash(d, f->kind));

	MAP_PROBE(&d->frames.index, hash, id)
	{
		if (frame_equal(&d->frames.v[id], f)) {
			*ret = id;
			return ERR_OK;
		}
	}
	return TABLE_ADD(&d->frames, *f, hash, ret);
}

enum err dict_label(struct dict *d, const struct label *l, uint32_t *ret)
{
	bool text = l->type == LABEL_STRING || l->type == LABEL_BYTES || l->type == LABEL_JSON;
	uint64_t value = text ? string_hash(d, (uint32_t)l->value)
			      : (uint64_t)l->value ^ string_hash(d, l->unit);
	uint64_t hash = hash_mix(hash_mix(string_hash(d, l->key), value ^ d->seed),
				 hash_mix(string_hash(d, l->unit), l->type));

	MAP_PROBE(&d->labels.index, hash, id)
	{
		const struct label *other = &d->labels.v[id];

		if (other->key == l->key && other->type == l->type && other->unit == l->unit &&
		    other->value == l->value) {
			*ret = id;
			return ERR_OK;
		}
	}
	return TABLE_ADD(&d->labels, *l, hash, ret);
}

enum err dict_link(struct dict *d, const struct link *l, uint32_t *ret)
{
	uint64_t hash = hash_bytes(l, sizeof(*l), d->seed);

	MAP_PROBE(&d->links.index, hash, id)
	{
		if (memcmp(&d->links.v[id], l, sizeof(*l)) == 0) {
			*ret = id;
			return ERR_OK;
		}
	}
	return TABLE_ADD(&d->links, *l, hash, ret);
}

/* Adds a sequence that is known to be new. */
static enum err sequence_add(const struct dict *d, struct sequence_table *t, uint64_t hash,
			     const uint32_t *ids, uint32_t n, uint32_t *ret)
{
	struct sequence entry = {.hash = hash, .at = (uint32_t)t->pool.n, .n = n};

	if (t->entries.n >= d->max_ids || t->pool.n + n >= d->max_ids)
		return ERR_TABLE_FULL;
	TRY(vec_reserve(&t->entries, 1));
	TRY(vec_reserve(&t->pool, n));
	TRY(map_put(&t->index, hash, (uint32_t)t->entries.n));
	if (n)
		memcpy(t->pool.v + t->pool.n, ids, n * sizeof(*ids));
	t->pool.n += n;
	*ret = (uint32_t)t->entries.n;
	t->entries.v[t->entries.n++] = entry;
	return ERR_OK;
}

enum err dict_stack(struct dict *d, const uint32_t *frames, uint32_t n, uint32_t *ret)
{
	uint64_t sum = 0, hash;
	uint32_t found;

	if (d->max_depth && n > d->max_depth) {
		frames += n - d->max_depth;
		n = d->max_depth;
		d->cut_stacks++;
	}
	for (uint32_t i = 0; i < n; i++)
		sum += d->frames.hash.v[frames[i]] * content_multiplier(d, i);
	hash = content_stack(sum, n);
	found = map_get(&d->stacks.index, hash);
	if (found != MAP_NONE) {
		*ret = found;
		return ERR_OK;
	}
	if (d->max_stacks && d->stacks.entries.n >= d->max_stacks) {
		d->refused_stacks++;
		*ret = 0;
		return ERR_OK;
	}
	return sequence_add(d, &d->stacks, hash, frames, n, ret);
}

enum err dict_add_stack(struct dict *d, uint64_t hash, const uint32_t *frames, uint32_t n,
			uint32_t *ret)
{
	return sequence_add(d, &d->stacks, hash, frames, n, ret);
}

enum err dict_add_frame(struct dict *d, uint64_t hash, const struct frame *f, uint32_t *ret)
{
	return TABLE_ADD(&d->frames, *f, hash, ret);
}

uint32_t dict_find_frame(const struct dict *d, uint64_t hash)
{
	return map_get(&d->frames.index, hash);
}

uint32_t dict_find_stack(const struct dict *d, uint64_t hash)
{
	return map_get(&d->stacks.index, hash);
}

/* Most label sets are short: an insertion sort that keeps equal keys in their order. */
static void sort_short(const struct dict *d, uint32_t *labels, uint32_t n)
{
	for (uint32_t i = 1; i < n; i++) {
		uint32_t item = labels[i], j = i;
		struct str key = dict_str(d, d->labels.v[item].key);

		while (j && str_cmp(dict_str(d, d->labels.v[labels[j - 1]].key), key) > 0) {
			labels[j] = labels[j - 1];
			j--;
		}
		labels[j] = item;
	}
}

static int compare_keys(const void *left, const void *right, void *context)
{
	const struct dict *d = context;
	const uint64_t *a = left, *b = right;
	int order = str_cmp(dict_str(d, d->labels.v[(uint32_t)*a].key),
			    dict_str(d, d->labels.v[(uint32_t)*b].key));

	/* The upper half is the place in the list: values of one key keep their order. */
	return order ? order : (*a > *b) - (*a < *b);
}

static enum err sort_by_key(struct dict *d, uint32_t *labels, uint32_t n)
{
	CLEANUP(mem_free_ptr) uint64_t *placed = NULL;

	if (n <= SHORT_SET) {
		sort_short(d, labels, n);
		return ERR_OK;
	}
	placed = mem_alloc(n * sizeof(*placed));
	if (!placed)
		return ERR_NO_MEMORY;
	for (uint32_t i = 0; i < n; i++)
		placed[i] = (uint64_t)i << 32 | labels[i];
	qsort_r(placed, n, sizeof(*placed), compare_keys, d);
	for (uint32_t i = 0; i < n; i++)
		labels[i] = (uint32_t)placed[i];
	return ERR_OK;
}

enum err dict_label_set(struct dict *d, uint32_t *labels, uint32_t n, uint32_t *ret)
{
	uint64_t hash = n;

	TRY(sort_by_key(d, labels, n));
	for (uint32_t i = 0; i < n; i++)
		hash = hash_mix(hash, d->labels.hash.v[labels[i]]);
	MAP_PROBE(&d->label_sets.index, hash, id)
	{
		uint32_t m;
		const uint32_t *items = label_set_items(d, id, &m);

		if (m == n && (n == 0 || memcmp(items, labels, n * sizeof(*labels)) == 0)) {
			*ret = id;
			return ERR_OK;
		}
	}
	return sequence_add(d, &d->label_sets, hash, labels, n, ret);
}

static enum err add_zero_entries(struct dict *d)
{
	static const struct function no_function;
	static const struct mapping no_mapping;
	static const struct frame no_frame;
	static const struct label no_label;
	static const struct link no_link;
	uint32_t id;

	for (unsigned i = 0; i < STR_FIXED_COUNT_; i++)
		TRY(dict_text(d, fixed_strings[i], &id));
	TRY(dict_function(d, &no_function, &id));
	TRY(dict_mapping(d, &no_mapping, &id));
	TRY(dict_frame(d, &no_frame, &id));
	TRY(dict_label(d, &no_label, &id));
	TRY(dict_link(d, &no_link, &id));
	/* Pools that exist: the empty stack is a place in one, and NULL has no places. */
	TRY(vec_reserve(&d->stacks.pool, 1));
	TRY(vec_reserve(&d->label_sets.pool, 1));
	TRY(dict_stack(d, NULL, 0, &id));
	d->no_function = d->functions.hash.v[0];
	d->no_mapping = d->mappings.hash.v[0];
	return dict_label_set(d, NULL, 0, &id);
}

enum err dict_init(struct dict *d, uint64_t seed)
{
	enum err e;

	*d = (struct dict){.seed = seed, .max_ids = MAX_IDS};
	d->multipliers = mem_alloc(STACK_MULTIPLIERS * sizeof(*d->multipliers));
	if (!d->multipliers)
		return ERR_NO_MEMORY;
	for (uint32_t i = 0; i < STACK_MULTIPLIERS; i++)
		d->multipliers[i] = hash_mix(seed, i) | 1;
	e = add_zero_entries(d);
	if (e)
		dict_release(d);
	return e;
}

static void sequence_table_release(struct sequence_table *t)
{
	vec_release(&t->pool);
	vec_release(&t->entries);
	map_release(&t->index);
}

void dict_release(struct dict *d)
{
	if (!d)
		return;
	vec_release(&d->bytes);
	TABLE_RELEASE(&d->strings);
	TABLE_RELEASE(&d->functions);
	TABLE_RELEASE(&d->mappings);
	TABLE_RELEASE(&d->frames);
	TABLE_RELEASE(&d->labels);
	TABLE_RELEASE(&d->links);
	sequence_table_release(&d->stacks);
	sequence_table_release(&d->label_sets);
	mem_free(d->multipliers);
	d->multipliers = NULL;
}
