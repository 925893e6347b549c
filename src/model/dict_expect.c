/*
 * Reserves room for entries that a decoder will intern, so that tables grow only once, without
 * rehashing.
 */
#include "model/dict.h"

/* Files may promise more than they hold: beyond this, tables grow as they fill. */
#define MOST ((size_t)1 << 20)

static size_t bounded(size_t n, size_t most)
{
	return n < most ? n : most;
}

/* A table that has as many entries as will come may well have those. */
#define EXPECT(table, count)                                                           \
	({                                                                             \
		size_t more_ = bounded(count, MOST);                                   \
		enum err expect_ = ERR_OK;                                             \
		if (more_ > (table)->n) {                                              \
			expect_ = vec_reserve(table, more_);                           \
			if (!expect_)                                                  \
				expect_ = vec_reserve(&(table)->hash, more_);          \
			if (!expect_)                                                  \
				expect_ = map_reserve(&(table)->index,                 \
						      (uint32_t)((table)->n + more_)); \
		}                                                                      \
		expect_;                                                               \
	})

enum err dict_expect(struct dict *d, const struct dict_sizes *coming)
{
	size_t stacks = bounded(coming->stacks, MOST);

	TRY(EXPECT(&d->strings, coming->strings));
	TRY(EXPECT(&d->functions, coming->functions));
	TRY(EXPECT(&d->frames, coming->frames));
	if (stacks <= d->stacks.entries.n)
		return ERR_OK;
	TRY(vec_reserve(&d->stacks.entries, stacks));
	TRY(vec_reserve(&d->stacks.pool, bounded(coming->stack_frames, MOST * 32)));
	return map_reserve(&d->stacks.index, (uint32_t)(d->stacks.entries.n + stacks));
}
