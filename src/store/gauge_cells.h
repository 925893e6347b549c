/*
 * Private to src/store: sums of gauge values, weighted by the time for which they are valid, by
 * group and stack. The first group is an array over all stacks: most queries have no other. The
 * others are a sparse matrix, because there may be many groups with few stacks each.
 */
#pragma once

#include "base/map.h"
#include "store/question.h"

struct gauge_cell {
	uint32_t group, stack;
	__int128 sum; /* value × how long it held */
};

/* All zero is valid and empty. */
struct gauge_cells {
	__int128 *first; /* of the first group, by stack */
	size_t first_n;
	VEC(struct gauge_cell) list;
	struct map index;
};

void gauge_cells_release(struct gauge_cells *c);
void gauge_cells_clear(struct gauge_cells *c);
/* Makes room for the stacks below `n` of the first group. */
enum err gauge_cells_reserve(struct gauge_cells *c, struct question *q, uint32_t n) MUST_CHECK;
enum err gauge_cells_add(struct gauge_cells *c, struct question *q, uint32_t group, uint32_t stack,
			 __int128 value) MUST_CHECK;
/* sums[stack] += what the group has; every stack must be below `n`. */
void gauge_cells_sum(const struct gauge_cells *c, uint32_t group, __int128 *sums, size_t n);
