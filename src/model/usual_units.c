/*
 * Values in the units that types are known by: time in nanoseconds, sizes in bytes. A service that
 * measures in microseconds is then found, added up and compared like any other.
 */
#include <math.h>

#include "model/ops.h"

/* A unit as a fraction of the usual one: 1000/1 for microseconds, 1/8 for bits. */
struct ratio {
	const char *usual;
	int64_t times, by;
};

/* False when the unit is the usual one, or of a kind that has none. */
static bool find_ratio(const struct dict *d, uint32_t unit, struct ratio *ret)
{
	double factor;
	enum unit_kind kind = unit_kind(dict_str(d, unit), &factor);

	if (kind != UNIT_TIME && kind != UNIT_BYTES)
		return false;
	ret->usual = kind == UNIT_TIME ? "nanoseconds" : "bytes";
	ret->times = factor >= 1 ? llround(factor) : 1;
	ret->by = factor >= 1 ? 1 : llround(1 / factor);
	return !str_eq(dict_str(d, unit), str_of(ret->usual));
}

static int64_t multiply(int64_t value, int64_t times, uint64_t *clamped)
{
	int64_t product;

	if (!__builtin_mul_overflow(value, times, &product))
		return product;
	++*clamped;
	return value < 0 ? INT64_MIN : INT64_MAX;
}

static __int128 divide_rounded(__int128 value, int64_t by)
{
	return value < 0 ? -((-value + by / 2) / by) : (value + by / 2) / by;
}

/* Divided values are rounded so that rows add up to the rounded sum, and none changes its sign. */
static void convert_column(struct profile *p, uint32_t column, const struct ratio *r,
			   uint64_t *clamped)
{
	__int128 sum = 0, before = 0;

	for (size_t i = 0; i < p->row_count; i++) {
		int64_t *value = &p->values[i * p->type_count + column];
		__int128 after;

		if (r->by == 1) {
			*value = multiply(*value, r->times, clamped);
			continue;
		}
		sum += *value;
		after = divide_rounded(sum, r->by);
		*value = (int64_t)(after - before);
		before = after;
	}
}

enum err profile_usual_units(struct profile *p, uint64_t *ret_clamped)
{
	struct ratio r;
	uint64_t clamped = 0;

	for (uint32_t t = 0; t < p->type_count; t++) {
		if (!find_ratio(p->dict, p->types[t].unit, &r))
			continue;
		TRY(dict_text(p->dict, r.usual, &p->types[t].unit));
		convert_column(p, t, &r, &clamped);
	}
	if (find_ratio(p->dict, p->period_type.unit, &r)) {
		uint64_t ignored = 0;

		TRY(dict_text(p->dict, r.usual, &p->period_type.unit));
		p->period = r.by == 1 ? multiply(p->period, r.times, &ignored)
				      : (int64_t)divide_rounded(p->period, r.by);
	}
	*ret_clamped = clamped;
	return ERR_OK;
}
