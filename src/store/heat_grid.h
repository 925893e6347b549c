/*
 * Private to src/store: the cells of a heat map. A column is a part of the range, a row a part of a
 * second. What has no time of its own is spread over the cells its profile touches: as whole
 * numbers, cell by cell, where these are few; else evenly, with work that depends on the size of
 * the map and not on how often the profile passes through it. What is spread evenly is rounded at
 * the end, so that cells are whole numbers and add up to the total either way.
 */
#pragma once

#include "store/question.h"

/* What whole columns have in common: from this one on so much more for each nanosecond. */
struct heat_step {
	double per_ns;
	int64_t profiles;
};

struct heat_grid {
	int64_t from_ns, until_ns, column_ns, row_ns;
	size_t columns, rows;
	int64_t *cells; /* [column * rows + row] */
	double *even;	/* the same of what is spread evenly; NULL until there is any */
	int64_t even_total;
	struct heat_step *steps; /* per column and one more; NULL until there are any */
	int64_t visits;
};

/* Cells that are visited one by one, for one profile and for all. */
#define HEAT_VISITS	((int64_t)1 << 20)
#define HEAT_VISITS_ALL ((int64_t)1 << 26)

enum err heat_grid_init(struct heat_grid *g, struct question *q) MUST_CHECK;
void heat_grid_release(struct heat_grid *g);
/* Nothing where the moment is outside. */
void heat_grid_add(struct heat_grid *g, int64_t time_ns, int64_t value);
/* Over [start, end), which may reach beyond the range: there is nothing there. */
enum err heat_grid_spread(struct heat_grid *g, struct question *q, int64_t start_ns, int64_t end_ns,
			  int64_t total) MUST_CHECK;
/* After the last. */
void heat_grid_finish(struct heat_grid *g);
