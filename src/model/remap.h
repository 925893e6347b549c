/*
 * Ids of one dictionary turned into ids of another. An entry is interned when it is first asked
 * for, and once: memos remember the answer per source id. A mapping that the target has at another
 * address becomes that one, and frames move with it, unless `exact` is set.
 *
 * A memo entry carries the epoch it was made in, so that beginning with another source dictionary
 * costs nothing, however large the memos have become. remap_begin must be called whenever the
 * source dictionary is another one, also when it stands at the same address.
 */
#pragma once

#include "model/dict.h"

struct memo {
	uint64_t *v; /* epoch << 32 | id */
	size_t n, cap;
};

/* What a string is used for: one that rewrites text treats them differently. */
enum text_role {
	TEXT_FIXED, /* types, units, kinds, keys: the words of the format */
	TEXT_NAME,
	TEXT_FILE,
	TEXT_VALUE, /* of a label */
	TEXT_ID,    /* of a build */
	TEXT_RULE,  /* a pattern for frames */
	TEXT_ROLE_COUNT
};

/* Rewrites text on its way (redact.c). `ret` may point to what lives until the next call. */
struct remap_editor {
	enum err (*text)(void *context, enum text_role role, struct str text, struct str *ret);
	/* Whether the value of labels with this key is to be replaced by `instead`. */
	enum err (*hides_key)(void *context, struct str key, bool *ret);
	struct str instead;
	void *context;
	struct str kept_key; /* the value of labels with it stays as it is; empty = none */
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
	struct map mapping_index; /* of dst: by what is mapped, wherever it was mapped to */
	uint32_t mappings_indexed;
	bool moves; /* dst has one content at two addresses: its own frames may change too */
};

/*
 * With src == dst only frames change that lie in a mapping dst also has at another address; most
 * dictionaries have none, and everything stays as it is.
 */
enum err remap_begin(struct remap *r, const struct dict *src, struct dict *dst) MUST_CHECK;
void remap_release(struct remap *r);
/* Whether a dictionary has one mapping at two addresses: frames of both become the same. */
enum err remap_joins_mappings(const struct dict *d, bool *ret) MUST_CHECK;

/* Whether every id, of whatever table, stays as it is. */
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
