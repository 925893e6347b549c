/*
 * Private to src/store: a sparse matrix of sums by bucket and stack. A gauge query has a bucket per
 * series, each with few stacks.
 */
#pragma once

#include "base/map.h"
#include "store/question.h"

struct gauge_cell {
	uint32_t bucket, stack;
	__int128 sum; /* value × how long it held */
};

/* All zero is valid and empty. */
struct gauge_cells {
	VEC(struct gauge_cell) list;
	struct map index;
};

void gauge_cells_release(struct gauge_cells *c);
void gauge_cells_clear(struct gauge_cells *c);
enum err gauge_cells_add(struct gauge_cells *c, struct question *q, uint32_t bucket, uint32_t stack,
			 __int128 value) MUST_CHECK;
