/*
 * Private to src/store: the cells of a heat map. A column is a part of the range, a row a part of a
 * second. Samples without a time of their own are spread over the cells that their profile
 * overlaps: cell by cell in whole numbers if these are few, else evenly, at a cost that depends on
 * the size of the map and not on how often the profile wraps around it. Evenly spread values are
 * rounded at the end. Either way cells are whole numbers and add up to the total.
 */
#pragma once

#include "store/question.h"

/* Difference between a column and the one before it, for whole columns: more value per
 * nanosecond. */
struct heat_step {
	double per_ns;
	int64_t profiles;
};

struct heat_grid {
	int64_t from_ns, until_ns, column_ns, row_ns;
	size_t columns, rows;
	int64_t *cells; /* [column * rows + row] */
	double *even;	/* the same, of evenly spread values; NULL until there are any */
	int64_t even_total;
	struct heat_step *steps; /* columns + 1 of them; NULL until there are any */
	int64_t visits;
};

/* Limits of cell-by-cell spreading, for one profile and for the whole map. */
#define HEAT_VISITS	((int64_t)1 << 20)
#define HEAT_VISITS_ALL ((int64_t)1 << 26)

enum err heat_grid_init(struct heat_grid *g, struct question *q) MUST_CHECK;
void heat_grid_release(struct heat_grid *g);
/* Ignores a time outside of the range. */
void heat_grid_add(struct heat_grid *g, int64_t time_ns, int64_t value);
/* Spreads `total` over [start, end); the part outside of the range is dropped. */
enum err heat_grid_spread(struct heat_grid *g, struct question *q, int64_t start_ns, int64_t end_ns,
			  int64_t total) MUST_CHECK;
/* Call after the last value. */
void heat_grid_finish(struct heat_grid *g);
