#include "pipeline/jfr_contexts.h"

#include "base/hash.h"
#include "format/format.h"

enum { SNAPSHOT_CONTEXTS = 1, SNAPSHOT_STRINGS = 2 };
enum { ENTRY_KEY = 1, ENTRY_VALUE = 2 };
enum { CONTEXT_LABELS = 1 };

/* Most labels of one context: every sample taken in it repeats them. */
#define MAX_LABELS 100

void jfr_contexts_release(struct jfr_contexts *c)
{
	vec_release(&c->strings);
	map_release(&c->string_index);
	vec_release(&c->contexts);
	map_release(&c->context_index);
	vec_release(&c->pairs);
}

/* One to one, so that an equal hash is an equal number; seeded against chosen ones. */
static uint64_t number_key(const struct jfr_contexts *c, int64_t id)
{
	uint64_t h = (uint64_t)id ^ c->seed;

	h = (h ^ h >> 32) * 0xd6e8feb86659fd93u;
	return h ^ h >> 29;
}

struct str jfr_contexts_string(const struct jfr_contexts *c, int64_t id)
{
	uint32_t at = map_get(&c->string_index, number_key(c, id));

	return at == MAP_NONE ? (struct str){NULL, 0} : c->strings.v[at];
}

void jfr_contexts_find(const struct jfr_contexts *c, int64_t id, uint32_t *ret_at, uint32_t *ret_n)
{
	uint32_t at = map_get(&c->context_index, number_key(c, id));

	*ret_at = at == MAP_NONE ? 0 : c->contexts.v[at].at;
	*ret_n = at == MAP_NONE ? 0 : c->contexts.v[at].n;
}

static enum err malformed(struct fault *fault)
{
	return fault_set(fault, ERR_CORRUPT, "the labels sent with the recording are malformed");
}

/* An entry of a map: its key is a number, its value a number or bytes. */
static enum err read_entry(const struct pb *at, int64_t *ret_key, uint64_t *ret_value,
			   struct str *ret_bytes, struct fault *fault)
{
	struct pb c = pb_sub(at);

	if (at->type != PB_BYTES)
		return malformed(fault);
	*ret_key = 0;
	*ret_value = 0;
	*ret_bytes = (struct str){NULL, 0};
	while (pb_next(&c)) {
		if (c.field == ENTRY_KEY && c.type == PB_VARINT)
			*ret_key = (int64_t)c.value;
		else if (c.field == ENTRY_VALUE && c.type == PB_VARINT)
			*ret_value = c.value;
		else if (c.field == ENTRY_VALUE && c.type == PB_BYTES)
			*ret_bytes = c.bytes;
	}
	return c.failed ? malformed(fault) : ERR_OK;
}

static enum err read_strings(struct jfr_contexts *all, struct pb c, struct fault *fault)
{
	int64_t key;
	uint64_t number;
	struct str text;

	while (pb_next(&c)) {
		if (c.field != SNAPSHOT_STRINGS)
			continue;
		TRY(read_entry(&c, &key, &number, &text, fault));
		/* The first stays: a number has one meaning. */
		if (map_get(&all->string_index, number_key(all, key)) != MAP_NONE)
			continue;
		TRY(map_put(&all->string_index, number_key(all, key), (uint32_t)all->strings.n));
		TRY(vec_push(&all->strings, text));
	}
	return c.failed ? malformed(fault) : ERR_OK;
}

static enum err read_context(struct jfr_contexts *all, struct str bytes, struct fault *fault)
{
	struct pb c = pb_of(bytes);
	size_t first = all->pairs.n;
	struct label_pair pair;
	struct str none;
	uint64_t value;
	int64_t key;

	while (pb_next(&c)) {
		if (c.field != CONTEXT_LABELS)
			continue;
		TRY(read_entry(&c, &key, &value, &none, fault));
		pair.name = jfr_contexts_string(all, key);
		pair.value = jfr_contexts_string(all, (int64_t)value);
		if (!pair.name.n || !pair.value.n || !utf8_valid(pair.name) ||
		    !utf8_valid(pair.value))
			continue;
		if (all->pairs.n - first >= MAX_LABELS)
			return fault_set(
				fault, ERR_TOO_LARGE,
				"a context sent with the recording has more than %d labels",
				MAX_LABELS);
		TRY(vec_push(&all->pairs, pair));
	}
	return c.failed ? malformed(fault) : ERR_OK;
}

static enum err read_contexts(struct jfr_contexts *all, struct pb c, struct fault *fault)
{
	int64_t key;
	uint64_t number;
	struct str bytes;

	while (pb_next(&c)) {
		struct jfr_context context = {.at = (uint32_t)all->pairs.n};

		if (c.field != SNAPSHOT_CONTEXTS)
			continue;
		TRY(read_entry(&c, &key, &number, &bytes, fault));
		if (map_get(&all->context_index, number_key(all, key)) != MAP_NONE)
			continue;
		TRY(read_context(all, bytes, fault));
		context.n = (uint32_t)all->pairs.n - context.at;
		TRY(map_put(&all->context_index, number_key(all, key), (uint32_t)all->contexts.n));
		TRY(vec_push(&all->contexts, context));
	}
	return c.failed ? malformed(fault) : ERR_OK;
}

enum err jfr_contexts_read(struct jfr_contexts *c, struct str bytes, uint64_t seed,
			   struct fault *fault)
{
	c->seed = seed;
	TRY(read_strings(c, pb_of(bytes), fault));
	return read_contexts(c, pb_of(bytes), fault);
}
