/*
 * Maps ids of one dictionary to ids of another. An entry is interned on first use, and the result
 * is stored per source id. A mapping that the target has at another address is replaced by that
 * one, and frames are relocated, unless `exact` is set.
 *
 * Entries of the memos have an epoch, so that switching to another source dictionary is cheap,
 * however large the memos are. Call remap_begin for every new source dictionary, even if it has the
 * same address as the last.
 */
#pragma once

#include "model/dict.h"

struct memo {
	uint64_t *v; /* epoch << 32 | id */
	size_t n, cap;
};

/* What a string is used for; rewriters treat these differently. */
enum text_role {
	TEXT_FIXED, /* keywords of the format: types, units, kinds, keys */
	TEXT_NAME,
	TEXT_FILE,
	TEXT_VALUE, /* of a label */
	TEXT_ID,    /* of a build */
	TEXT_RULE,  /* a pattern for frames */
	TEXT_ROLE_COUNT
};

/* Rewrites text (redact.c). `ret` need only be valid until the next call. */
struct remap_editor {
	enum err (*text)(void *context, enum text_role role, struct str text, struct str *ret);
	/* Whether values of labels with this key must be replaced by `instead`. */
	enum err (*hides_key)(void *context, struct str key, bool *ret);
	struct str instead;
	void *context;
	struct str kept_key; /* key whose values are exempt; empty = none */
};

struct remap {
	const struct dict *src;
	struct dict *dst;
	const struct remap_editor *editor; /* or NULL */
	bool exact;			   /* set before the first remap_begin, and kept */
	uint32_t epoch;
	struct memo strings[TEXT_ROLE_COUNT];
	struct memo functions, mappings, frames, labels, label_sets, links, stacks;
	VEC(uint32_t) scratch;
	struct map mapping_index; /* mappings of dst by file, independent of their address */
	uint32_t mappings_indexed;
	bool moves; /* dst has the same file at two addresses: its own frames may change, too */
};

/*
 * With src == dst only frames in a mapping that dst also has at another address change; most
 * dictionaries have none.
 */
enum err remap_begin(struct remap *r, const struct dict *src, struct dict *dst) MUST_CHECK;
void remap_release(struct remap *r);
/* Whether a dictionary has one mapping at two addresses, whose frames are unified. */
enum err remap_joins_mappings(const struct dict *d, bool *ret) MUST_CHECK;

/* Whether the ids of all tables stay the same. */
static inline bool remap_keeps_all(const struct remap *r)
{
	return r->src == r->dst && !r->moves;
}

enum err remap_text(struct remap *r, enum text_role role, uint32_t id, uint32_t *ret) MUST_CHECK;
static inline enum err remap_string(struct remap *r, uint32_t id, uint32_t *ret)
{
	return remap_text(r, TEXT_FIXED, id, ret);
}
enum err remap_function(struct remap *r, uint32_t id, uint32_t *ret) MUST_CHECK;
enum err remap_mapping(struct remap *r, uint32_t id, uint32_t *ret) MUST_CHECK;
enum err remap_frame(struct remap *r, uint32_t id, uint32_t *ret) MUST_CHECK;
enum err remap_label(struct remap *r, uint32_t id, uint32_t *ret) MUST_CHECK;
enum err remap_label_set(struct remap *r, uint32_t id, uint32_t *ret) MUST_CHECK;
enum err remap_link(struct remap *r, uint32_t id, uint32_t *ret) MUST_CHECK;
enum err remap_stack(struct remap *r, uint32_t id, uint32_t *ret) MUST_CHECK;

static inline bool memo_get(const struct memo *m, uint32_t epoch, uint32_t id, uint32_t *ret)
{
	if (id >= m->n || m->v[id] >> 32 != epoch)
		return false;
	*ret = (uint32_t)m->v[id];
	return true;
}
/* `count` is the size of the table the id stands in. */
enum err memo_set(struct memo *m, uint32_t epoch, size_t count, uint32_t id,
		  uint32_t value) MUST_CHECK;
void memo_release(struct memo *m);
