/*
 * Private to src/model: ids of one dictionary turned into ids of another. An entry is interned
 * when it is first asked for, and once: memos remember the answer per source id.
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

struct remap {
	const struct dict *src;
	struct dict *dst;
	uint32_t epoch;
	struct memo strings, functions, mappings, frames, labels, label_sets, links, stacks;
	VEC(uint32_t) scratch;
	struct map mapping_index; /* of dst: by what is mapped, wherever it was mapped to */
	uint32_t mappings_indexed;
};

void remap_begin(struct remap *r, const struct dict *src, struct dict *dst);
void remap_release(struct remap *r);

enum err remap_string(struct remap *r, uint32_t id, uint32_t *ret) MUST_CHECK;
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
