/*
 * The exact function table: flat and cumulative value per function (or per line), recursion
 * counted once. Computed from the stacks, never from a pruned tree.
 */
#pragma once

#include "model/profile.h"
#include "model/tree.h"

enum top_flags {
	TOP_LINES = 1 << 0, /* one row per function, file and line */
};

struct top_row {
	uint32_t frame; /* representative */
	int64_t *flat;	/* one per column */
	int64_t *cum;
};

struct top {
	uint32_t columns;
	unsigned flags;	 /* it was built with */
	int64_t *totals; /* one per column: sum over all rows of the profile */
	struct top_row *rows;
	size_t n;
	int64_t *values; /* owns what the rows point to */
};

/* Columns as for a tree. Rows are in order of first use; sort with top_sort. */
enum err top_build(const struct tree_column *columns, uint32_t count, unsigned flags,
		   struct top *ret) MUST_CHECK;
void top_release(struct top *t);

enum top_order { TOP_BY_FLAT, TOP_BY_CUM };
/* Largest magnitude first, then by displayed name, then by the other value, as in pprof. */
void top_sort(struct top *t, const struct dict *d, uint32_t column, enum top_order order);
/* Keeps at most `most` rows: those with the largest cumulative value in one of `count` columns.
 * Does not compare names, which would take most of the time. */
void top_keep(struct top *t, uint32_t column, uint32_t count, size_t most);

/*
 * The function or line of each frame: frames with equal keys are one row of the table and one node
 * of the tree. `keys[frame]` is a dense number; `ret_representative[key]` a frame.
 */
struct frame_keys {
	uint32_t *keys;
	VEC(uint32_t) representative;
};
enum err frame_keys_build(const struct dict *d, bool lines, struct frame_keys *ret) MUST_CHECK;
void frame_keys_release(struct frame_keys *k);
