#include "model/rate.h"

#include <math.h>

#include "base/clock.h"
#include "base/jsonout.h"

double rate_of(double value, int64_t covered_ns)
{
	return covered_ns > 0 ? value / ((double)covered_ns / NS_PER_S) : NAN;
}

void amount_set(struct amount *a, int64_t total)
{
	if (isnan(a->total))
		return;
	a->total = (double)total;
	a->whole = total;
}

double amount_rate(const struct amount *a)
{
	return a->gauge ? a->total : rate_of(a->total, a->covered_ns);
}

double amount_average(const struct amount *a)
{
	return a->gauge ? a->total : rate_of(a->total, a->range_ns);
}

double amount_coverage(const struct amount *a)
{
	return a->range_ns > 0 && a->covered_ns >= 0 ? (double)a->covered_ns / (double)a->range_ns
						     : NAN;
}

void amount_put_rates(struct jsonout *o, const struct amount *a)
{
	jsonout_put_double(o, "rate", amount_rate(a));
	jsonout_put_double(o, "average", amount_average(a));
	if (a->covered_ns >= 0)
		jsonout_put_i64(o, "covered_ns", a->covered_ns);
	else
		jsonout_put_text(o, "covered_ns", NULL);
	jsonout_put_double(o, "coverage", amount_coverage(a));
}

void amount_put_total(struct jsonout *o, const char *key, const struct amount *a)
{
	if (a->total == (double)a->whole)
		jsonout_put_i64(o, key, a->whole);
	else
		jsonout_put_double(o, key, a->total);
}

void amount_put(struct jsonout *o, const struct amount *a)
{
	amount_put_total(o, "total", a);
	amount_put_rates(o, a);
}
