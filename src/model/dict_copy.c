/*
 * Copies a dictionary to an empty one: if most of it is needed, that is faster than interning.
 */
#include "model/dict.h"

static enum err copy_map(struct map *dst, const struct map *src)
{
	size_t size = ((size_t)src->mask + 1) * sizeof(*src->slots);
	struct map_slot *slots;

	if (!src->slots)
		return ERR_OK;
	slots = mem_alloc(size);
	if (!slots)
		return ERR_NO_MEMORY;
	memcpy(slots, src->slots, size);
	map_release(dst);
	*dst = *src;
	dst->slots = slots;
	return ERR_OK;
}

/* The target holds the first entries of the source: all of it takes their place. */
#define COPY_VEC(dst, src)                                                        \
	({                                                                        \
		enum err copy_ = ERR_OK;                                          \
		if ((src)->n > (dst)->n)                                          \
			copy_ = vec_reserve(dst, (src)->n - (dst)->n);            \
		if (!copy_ && (src)->n) {                                         \
			memcpy((dst)->v, (src)->v, (src)->n * sizeof(*(dst)->v)); \
			(dst)->n = (src)->n;                                      \
		}                                                                 \
		copy_;                                                            \
	})

#define COPY_TABLE(dst, src)                                             \
	({                                                               \
		enum err table_ = COPY_VEC(dst, src);                    \
		if (!table_)                                             \
			table_ = COPY_VEC(&(dst)->hash, &(src)->hash);   \
		if (!table_)                                             \
			table_ = copy_map(&(dst)->index, &(src)->index); \
		table_;                                                  \
	})

bool dict_is_empty(const struct dict *d)
{
	return d->strings.n <= STR_FIXED_COUNT_ && d->functions.n <= 1 && d->mappings.n <= 1 &&
	       d->frames.n <= 1 && d->labels.n <= 1 && d->links.n <= 1 &&
	       d->stacks.entries.n <= 1 && d->label_sets.entries.n <= 1;
}

enum err dict_copy_code(struct dict *dst, const struct dict *src)
{
	if (dst->seed != src->seed || !dict_is_empty(dst))
		return ERR_BAD_ARGUMENT;
	TRY(COPY_VEC(&dst->bytes, &src->bytes));
	TRY(COPY_TABLE(&dst->strings, &src->strings));
	TRY(COPY_TABLE(&dst->functions, &src->functions));
	TRY(COPY_TABLE(&dst->mappings, &src->mappings));
	TRY(COPY_TABLE(&dst->frames, &src->frames));
	TRY(COPY_VEC(&dst->stacks.pool, &src->stacks.pool));
	TRY(COPY_VEC(&dst->stacks.entries, &src->stacks.entries));
	return copy_map(&dst->stacks.index, &src->stacks.index);
}
