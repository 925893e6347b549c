/*
 * Two profiles side by side: one table of both (top.c), then the change of every row, then what
 * the samples behind it say about chance (significance.c).
 */
#include "model/diff.h"

#include <math.h>
#include <stdlib.h>

#include "base/jsonout.h"
#include "model/frame_order.h"
#include "model/significance.h"
#include "model/types.h"
#include "model/values.h"

/* A change below this many percentage points is not worth a name, however certain. */
#define SMALLEST_EFFECT 0.1
#define FALSE_DISCOVERY 0.05
#define Z_95		1.959964

/* Finds the column that gives the number of observations, and the value of one observation in
 * it. */
struct evidence {
	uint32_t column;
	double worth; /* 0 = not known */
	uint32_t at;  /* where it stands in the table */
};

static enum unit_kind column_kind(const struct profile *p, uint32_t t, double *ret_factor)
{
	return unit_kind(dict_str(p->dict, p->types[t].unit), ret_factor);
}

/* The period in base units when it is one of `kind`, else 0. */
static double period_of_kind(const struct profile *p, enum unit_kind kind)
{
	double factor;

	if (p->period <= 0 || unit_kind(dict_str(p->dict, p->period_type.unit), &factor) != kind)
		return 0;
	return (double)p->period * factor;
}

/* Whether that is what the profiler sampled by, however often. */
static bool is_sampled_by(const struct profile *p, enum unit_kind kind)
{
	double factor;

	return unit_kind(dict_str(p->dict, p->period_type.unit), &factor) == kind;
}

/* The first column of a kind, by preference one whose name begins as that of `t` does: the
 * inuse_space of inuse_objects. */
static bool find_sibling(const struct profile *p, uint32_t t, enum unit_kind kind, uint32_t *ret)
{
	struct str name = dict_str(p->dict, p->types[t].type);
	struct str prefix = str_n(name.p, str_find(name, '_'));
	bool found = false;
	double factor;

	for (uint32_t i = 0; i < p->type_count; i++) {
		bool close = str_starts(dict_str(p->dict, p->types[i].type), prefix);

		if (i == t || column_kind(p, i, &factor) != kind)
			continue;
		if (!found || close)
			*ret = i;
		found = true;
		if (close)
			break;
	}
	return found;
}

/*
 * Values of the period's own kind are multiples of it: CPU time of 10 ms, bytes of 512 KiB. A
 * count counts itself, except where bytes were sampled: then the bytes beside it tell. Durations
 * without a period were seen as often as the count beside them says.
 */
static struct evidence find_evidence(const struct profile *p, uint32_t t)
{
	double factor, period;
	uint32_t sibling;
	enum unit_kind kind = column_kind(p, t, &factor);

	period = period_of_kind(p, kind);
	if (kind != UNIT_OTHER && period > 0)
		return (struct evidence){t, period / factor, 0};
	if (kind == UNIT_COUNT) {
		period = period_of_kind(p, UNIT_BYTES);
		if (period > 0 && find_sibling(p, t, UNIT_BYTES, &sibling)) {
			(void)column_kind(p, sibling, &factor);
			return (struct evidence){sibling, period / factor, 0};
		}
		/* Objects are many more than the samples they were estimated from. */
		return (struct evidence){t, is_sampled_by(p, UNIT_BYTES) ? 0 : 1, 0};
	}
	if (find_sibling(p, t, UNIT_COUNT, &sibling)) {
		period = period_of_kind(p, UNIT_COUNT);
		return (struct evidence){sibling, period > 0 ? period : 1, 0};
	}
	return (struct evidence){t, 0, 0};
}

/* Brings before's values to the unit of after's. */
static double unit_factor(const struct profile *before, uint32_t b, const struct profile *after,
			  uint32_t a)
{
	double from, to;
	enum unit_kind kind = column_kind(before, b, &from);

	return kind == UNIT_OTHER || kind != column_kind(after, a, &to) ? 1 : from / to;
}

static int64_t times(int64_t value, double factor)
{
	return factor == 1 ? value : value_round((double)value * factor);
}

static double share(int64_t value, int64_t total)
{
	return total ? (double)value / (double)total : 0;
}

static double difference(const int64_t values[2], double scale)
{
	int64_t exact;

	if (scale == 1 && !__builtin_sub_overflow(values[1], values[0], &exact))
		return (double)exact;
	return (double)values[1] - (double)values[0] * scale;
}

void diff_put_difference(struct jsonout *o, const int64_t values[2], double change)
{
	int64_t exact;

	if (!__builtin_sub_overflow(values[1], values[0], &exact) && (double)exact == change)
		jsonout_put_i64(o, "change", exact);
	else
		jsonout_put_double(o, "change", change);
}

static void measure_row(const struct diff *d, const struct top_row *from, double unit,
			struct diff_row *row)
{
	*row = (struct diff_row){
		.frame = from->frame,
		.flat = {times(from->flat[0], unit), from->flat[1]},
		.cum = {times(from->cum[0], unit), from->cum[1]},
		.p_value = 1,
		.verdict = DIFF_UNKNOWN,
	};
	row->flat_change = difference(row->flat, d->scale);
	row->cum_change = difference(row->cum, d->scale);
	row->share_change =
		100 * (share(row->cum[1], d->totals[1]) - share(row->cum[0], d->totals[0]));
}

/* Agresti and Caffo's interval: honest also where one side saw nothing. */
static double interval(const double *seen, const double *of)
{
	double variance = 0;

	for (int side = 0; side < 2; side++) {
		double n = of[side] + 2, p = (seen[side] + 1) / n;

		variance += p * (1 - p) / n;
	}
	return 100 * Z_95 * sqrt(variance);
}

static void test_row(const struct diff *d, const struct top_row *from, const struct evidence *ev,
		     double design_effect, struct diff_row *row)
{
	double seen[2], of[2];

	for (int side = 0; side < 2; side++) {
		seen[side] = (double)from->cum[ev[side].at] / ev[side].worth / design_effect;
		of[side] = d->samples[side] / design_effect;
		/* Subtracted values are no observations. */
		if (!(seen[side] >= 0) || seen[side] > of[side] * (1 + 1e-9))
			return;
	}
	row->verdict = DIFF_NOISE;
	row->p_value = share_test(seen, of);
	row->p_floor = share_test_floor(seen, of);
	row->error = interval(seen, of);
}

static void name_change(struct diff_row *row)
{
	if (fabs(row->share_change) < SMALLEST_EFFECT)
		return;
	if (row->cum[0] == 0)
		row->verdict = DIFF_ADDED;
	else if (row->cum[1] == 0)
		row->verdict = DIFF_REMOVED;
	else
		row->verdict = row->share_change > 0 ? DIFF_MORE : DIFF_LESS;
}

static bool is_worth_testing(const struct diff_row *row, double floor)
{
	return row->verdict != DIFF_UNKNOWN && row->p_floor <= floor;
}

static enum err judge_rows(struct diff *d)
{
	CLEANUP(mem_free_ptr) double *p_values = mem_alloc(d->n * sizeof(*p_values));
	size_t known = 0, tested = 0;
	double floor, limit;

	if (!p_values)
		return ERR_NO_MEMORY;
	for (size_t i = 0; i < d->n; i++)
		if (d->rows[i].verdict != DIFF_UNKNOWN)
			p_values[known++] = d->rows[i].p_floor;
	floor = worthwhile_floor(p_values, known, FALSE_DISCOVERY);
	for (size_t i = 0; i < d->n; i++)
		if (is_worth_testing(&d->rows[i], floor))
			p_values[tested++] = d->rows[i].p_value;
	limit = discovery_limit(p_values, tested, FALSE_DISCOVERY);
	for (size_t i = 0; i < d->n; i++)
		if (is_worth_testing(&d->rows[i], floor) && d->rows[i].p_value <= limit)
			name_change(&d->rows[i]);
	return ERR_OK;
}

static enum err fill_diff(const struct top *top, const struct evidence *evidence, double unit,
			  const struct diff_options *options, struct diff *d)
{
	double design_effect = options->design_effect > 1 ? options->design_effect : 1;
	bool known = evidence[0].worth > 0 && evidence[1].worth > 0;

	d->rows = mem_alloc(top->n * sizeof(*d->rows));
	if (!d->rows)
		return ERR_NO_MEMORY;
	d->n = top->n;
	for (int side = 0; side < 2; side++) {
		d->totals[side] = side ? top->totals[1] : times(top->totals[0], unit);
		if (evidence[side].worth > 0 && top->totals[evidence[side].at] > 0)
			d->samples[side] =
				(double)top->totals[evidence[side].at] / evidence[side].worth;
	}
	known = known && d->samples[0] > 0 && d->samples[1] > 0;
	if (options->normalise && d->totals[0])
		d->scale = (double)d->totals[1] / (double)d->totals[0];
	for (size_t i = 0; i < top->n; i++) {
		measure_row(d, &top->rows[i], unit, &d->rows[i]);
		if (known)
			test_row(d, &top->rows[i], evidence, design_effect, &d->rows[i]);
	}
	return judge_rows(d);
}

/* The values of both sides, and what counts their samples where that is another column. */
static enum err choose_columns(const struct profile *const *sides,
			       const struct diff_options *options, struct tree_column *columns,
			       struct evidence *evidence, uint32_t *ret_count)
{
	*ret_count = 2;
	for (uint32_t side = 0; side < 2; side++) {
		uint32_t type = (uint32_t)options->type[side];

		if (options->type[side] < 0 || type >= sides[side]->type_count)
			return ERR_BAD_ARGUMENT;
		columns[side] = (struct tree_column){sides[side], type};
		evidence[side] = find_evidence(sides[side], type);
		evidence[side].at = side;
	}
	for (uint32_t side = 0; side < 2; side++) {
		if (evidence[side].column == columns[side].type)
			continue;
		evidence[side].at = *ret_count;
		columns[(*ret_count)++] = (struct tree_column){sides[side], evidence[side].column};
	}
	return ERR_OK;
}

enum err diff_build(const struct profile *before, const struct profile *after,
		    const struct diff_options *options, struct diff *ret)
{
	const struct profile *const sides[2] = {before, after};
	struct tree_column columns[4];
	struct evidence evidence[2];
	struct diff d = {.scale = 1, .lines = options->lines};
	struct top top;
	uint32_t count;
	double unit;
	enum err e;

	TRY(choose_columns(sides, options, columns, evidence, &count));
	unit = unit_factor(before, columns[0].type, after, columns[1].type);
	TRY(top_build(columns, count, options->lines ? TOP_LINES : 0, &top));
	e = fill_diff(&top, evidence, unit, options, &d);
	top_release(&top);
	if (e)
		diff_release(&d);
	else
		*ret = d;
	return e;
}

const char *diff_doubt(const struct diff *d)
{
	if (d->n && !(d->samples[0] > 0 && d->samples[1] > 0))
		return "the number of samples is unknown, so the significance cannot be tested";
	return NULL;
}

void diff_release(struct diff *d)
{
	mem_free(d->rows);
	d->rows = NULL;
	d->n = 0;
}

struct diff_sorting {
	const struct dict *dict;
	bool by_flat, lines;
};

static int compare_rows(const void *left, const void *right, void *context)
{
	const struct diff_sorting *s = context;
	const struct diff_row *a = left, *b = right;
	double x = fabs(s->by_flat ? a->flat_change : a->cum_change);
	double y = fabs(s->by_flat ? b->flat_change : b->cum_change);
	int order = (x < y) - (x > y);

	if (!order)
		order = frame_compare(s->dict, a->frame, b->frame, s->lines);
	return order ? order : (a->frame > b->frame) - (a->frame < b->frame);
}

void diff_sort(struct diff *d, const struct dict *dict, bool by_flat)
{
	struct diff_sorting s = {dict, by_flat, d->lines};

	if (d->n)
		qsort_r(d->rows, d->n, sizeof(*d->rows), compare_rows, &s);
}
