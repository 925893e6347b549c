#include "store/heat_grid.h"

#include <math.h>

#include "base/clock.h"
#include "store/row_cut.h"

#define MAX_CELLS ((size_t)4 << 20)

enum err heat_grid_init(struct heat_grid *g, struct question *q)
{
	const struct selection *s = q->selection;
	uint64_t columns, rows;

	if (g->column_ns <= 0 || g->row_ns <= 0 || s->until_ns <= s->from_ns)
		return fault_set(q->ask->fault, ERR_BAD_ARGUMENT,
				 "the cells and the time range must not be empty");
	columns = ((uint64_t)s->until_ns - (uint64_t)s->from_ns + (uint64_t)g->column_ns - 1) /
		  (uint64_t)g->column_ns;
	rows = ((uint64_t)NS_PER_S + (uint64_t)g->row_ns - 1) / (uint64_t)g->row_ns;
	if (columns > MAX_CELLS || rows > MAX_CELLS || columns * rows > MAX_CELLS)
		return fault_set(q->ask->fault, ERR_TOO_LARGE,
				 "the heat map has more than %zu cells", MAX_CELLS);
	g->from_ns = s->from_ns;
	g->until_ns = s->until_ns;
	g->columns = columns;
	g->rows = rows;
	return question_array(q, columns * rows, sizeof(*g->cells), &g->cells);
}

void heat_grid_release(struct heat_grid *g)
{
	mem_free(g->cells);
	mem_free(g->even);
	mem_free(g->steps);
}

static int64_t within_second(int64_t time)
{
	int64_t within = time % NS_PER_S;

	return within < 0 ? within + NS_PER_S : within;
}

void heat_grid_add(struct heat_grid *g, int64_t time, int64_t value)
{
	int64_t *cell;
	size_t column, row;

	if (time < g->from_ns)
		return;
	column = (size_t)((time - g->from_ns) / g->column_ns);
	row = (size_t)(within_second(time) / g->row_ns);
	if (column >= g->columns || row >= g->rows)
		return;
	cell = &g->cells[column * g->rows + row];
	*cell = add_saturating(*cell, value);
}

static int64_t column_begin(const struct heat_grid *g, size_t column)
{
	int64_t begin;

	if (__builtin_mul_overflow((int64_t)column, g->column_ns, &begin) ||
	    __builtin_add_overflow(begin, g->from_ns, &begin) || begin > g->until_ns)
		return g->until_ns;
	return begin;
}

/* The end of the row that contains a time. */
static int64_t row_end(const struct heat_grid *g, int64_t time)
{
	int64_t within = within_second(time), row = within / g->row_ns * g->row_ns;

	return time - within + (g->row_ns < NS_PER_S - row ? row + g->row_ns : NS_PER_S);
}

static void visit_cells(struct heat_grid *g, int64_t start, int64_t end, int64_t total)
{
	int64_t before = 0;

	for (int64_t t = start; t < end;) {
		size_t column = (size_t)((t - g->from_ns) / g->column_ns);
		int64_t next = row_end(g, t), border = column_begin(g, column + 1), after;

		next = next < border ? next : border;
		after = share_before(total, start, end, next);
		heat_grid_add(g, t, after - before);
		before = after;
		t = next;
	}
}

/* Less than a second, in one column. */
static void heat_part(struct heat_grid *g, double *cells, int64_t from, int64_t until,
		      double per_ns)
{
	while (from < until) {
		int64_t next = row_end(g, from) < until ? row_end(g, from) : until;

		cells[within_second(from) / g->row_ns] += per_ns * (double)(next - from);
		from = next;
	}
}

/* [from, until) in one column: whole seconds at once. */
static void heat_column(struct heat_grid *g, size_t column, int64_t from, int64_t until,
			double per_ns)
{
	double *cells = g->even + column * g->rows;
	int64_t rest = within_second(from), whole;

	if (rest && until - from >= NS_PER_S - rest) {
		heat_part(g, cells, from, from + NS_PER_S - rest, per_ns);
		from += NS_PER_S - rest;
		rest = 0;
	}
	whole = rest ? 0 : (until - from) / NS_PER_S;
	if (whole)
		heat_part(g, cells, from, from + NS_PER_S, per_ns * (double)whole);
	heat_part(g, cells, from + whole * NS_PER_S, until, per_ns);
}

static enum err heat_evenly(struct heat_grid *g, struct question *q, int64_t start, int64_t end,
			    int64_t total)
{
	size_t first = (size_t)((start - g->from_ns) / g->column_ns);
	size_t last = (size_t)((end - 1 - g->from_ns) / g->column_ns);
	double per_ns = (double)total / (double)(end - start);

	if (!g->even)
		TRY(question_array(q, g->columns * g->rows, sizeof(*g->even), &g->even));
	g->even_total = add_saturating(g->even_total, total);
	if (first == last) {
		heat_column(g, first, start, end, per_ns);
		return ERR_OK;
	}
	if (!g->steps)
		TRY(question_array(q, g->columns + 1, sizeof(*g->steps), &g->steps));
	heat_column(g, first, start, column_begin(g, first + 1), per_ns);
	heat_column(g, last, column_begin(g, last), end, per_ns);
	g->steps[first + 1].per_ns += per_ns;
	g->steps[first + 1].profiles++;
	g->steps[last].per_ns -= per_ns;
	g->steps[last].profiles--;
	return ERR_OK;
}

enum err heat_grid_spread(struct heat_grid *g, struct question *q, int64_t start, int64_t end,
			  int64_t total)
{
	int64_t visits;

	start = start > g->from_ns ? start : g->from_ns;
	end = end < g->until_ns ? end : g->until_ns;
	if (start >= end) {
		heat_grid_add(g, start, total);
		return ERR_OK;
	}
	visits = (end - start) / g->row_ns + (end - start) / g->column_ns;
	if (visits > HEAT_VISITS || g->visits > HEAT_VISITS_ALL - visits)
		return heat_evenly(g, q, start, end, total);
	g->visits += visits;
	visit_cells(g, start, end, total);
	return ERR_OK;
}

/* Integers that add up to the total: the remainder of a cell is carried to the next. */
static void round_cells(struct heat_grid *g)
{
	size_t n = g->columns * g->rows, largest = 0;
	int64_t missing = g->even_total;
	double rest = 0;

	for (size_t i = 0; i < n; i++) {
		double value = g->even[i] + rest;
		int64_t whole = llround(fmax(-0x1p62, fmin(value, 0x1p62)));

		rest = value - (double)whole;
		missing = add_saturating(missing, -whole);
		largest = g->even[i] > g->even[largest] ? i : largest;
		g->cells[i] = add_saturating(g->cells[i], whole);
	}
	/* The rounding difference to the total. */
	g->cells[largest] = add_saturating(g->cells[largest], missing);
}

void heat_grid_finish(struct heat_grid *g)
{
	struct heat_step now = {0};

	for (size_t c = 0; g->steps && c < g->columns; c++) {
		now.per_ns += g->steps[c].per_ns;
		now.profiles += g->steps[c].profiles;
		/* Without an active profile only a remainder of rounding is left. */
		if (!now.profiles)
			now.per_ns = 0;
		else
			heat_column(g, c, column_begin(g, c), column_begin(g, c + 1), now.per_ns);
	}
	if (g->even)
		round_cells(g);
}
