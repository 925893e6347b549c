#include "model/rate_change.h"

#include <math.h>

#include "base/jsonout.h"
#include "model/significance.h"

#define BLOCKS	 10
#define FEWEST	 5    /* required blocks with data per side */
#define CERTAIN	 0.01 /* p-values up to this are a change */
#define SMALLEST 0.05 /* changes below this share are of no interest */

/* ------------------------------------------------------------------ blocks of time */

struct blocks {
	double rate[BLOCKS], weight[BLOCKS]; /* weights add up to 1 */
	size_t n;
	double mean, variance; /* of the mean */
	double freedom;
};

static bool is_covered(const struct change_side *s, size_t i)
{
	return s->covered[i] > 0 && !isnan(s->values[i]);
}

static size_t count_covered(const struct change_side *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->n; i++)
		n += is_covered(s, i);
	return n;
}

/* Of a gauge the mean of its points, each for the time it held. */
static double block_rate(const struct change_side *s, double sum, int64_t covered_ns)
{
	return s->amount.gauge ? sum / (double)covered_ns : rate_of(sum, covered_ns);
}

/* Only points that cover something are in blocks: a version that ran for a part of the range has as
 * many blocks as one that ran all the time. */
static void fill_blocks(const struct change_side *s, struct blocks *b)
{
	size_t points = count_covered(s), at = 0, seen = 0;
	double all = 0;

	b->n = points < BLOCKS ? points : BLOCKS;
	for (size_t k = 0; k < b->n; k++) {
		size_t end = (k + 1) * points / b->n;
		int64_t covered = 0;
		double sum = 0;

		for (; seen < end; at++) {
			if (!is_covered(s, at))
				continue;
			sum += s->values[at] * (s->amount.gauge ? (double)s->covered[at] : 1);
			covered += s->covered[at];
			seen++;
		}
		b->rate[k] = block_rate(s, sum, covered);
		b->weight[k] = (double)covered;
		all += (double)covered;
	}
	for (size_t k = 0; k < b->n; k++)
		b->weight[k] /= all;
}

/* Blocks that cover more weigh more; with equal weights these are the mean and s²/n. */
static void measure_blocks(struct blocks *b)
{
	double squares = 0;

	for (size_t k = 0; k < b->n; k++)
		b->mean += b->weight[k] * b->rate[k];
	for (size_t k = 0; k < b->n; k++) {
		double w = b->weight[k], distance = b->rate[k] - b->mean;

		squares += w * w;
		b->variance += w * w * distance * distance;
	}
	if (b->n > 1)
		b->variance *= (double)b->n / (double)(b->n - 1);
	b->freedom = squares > 0 ? 1 / squares - 1 : 0;
}

static struct blocks blocks_of(const struct change_side *s)
{
	struct blocks b = {0};

	if (!s->values || !s->covered)
		return b;
	fill_blocks(s, &b);
	measure_blocks(&b);
	return b;
}

static double welch(const struct blocks *a, const struct blocks *b)
{
	double variance = a->variance + b->variance, distance = fabs(b->mean - a->mean);
	double freedom;

	/* Rates that differ by less than a double holds are the same. */
	if (variance <= 0 || sqrt(variance) < 1e-12 * fmax(fabs(a->mean), fabs(b->mean)))
		return distance > 1e-9 * fmax(fabs(a->mean), fabs(b->mean)) ? 0 : 1;
	freedom = variance * variance /
		  (a->variance * a->variance / a->freedom + b->variance * b->variance / b->freedom);
	return student_test(distance / sqrt(variance), freedom);
}

/* ------------------------------------------------------------------ both tests */

static bool has_data(const struct amount *a)
{
	return a->covered_ns > 0 || (!isnan(a->total) && a->total != 0);
}

static struct rate_change begin(const struct change_side *before, const struct change_side *after)
{
	struct rate_change c = {
		.before = before->amount, .after = after->amount, .share = NAN, .p_value = NAN};
	double from = amount_rate(&c.before), to = amount_rate(&c.after);

	c.difference = to - from;
	if (from > 0)
		c.share = c.difference / from;
	if (!has_data(&c.before))
		c.verdict = CHANGE_NO_EARLIER;
	else if (!has_data(&c.after))
		c.verdict = CHANGE_NO_LATER;
	return c;
}

/* A change from or to 0 is always of interest. */
static void judge(struct rate_change *c, const char *test, double p_value)
{
	bool small = !isnan(c->share) && fabs(c->share) < SMALLEST;

	c->test = test;
	c->p_value = p_value;
	if (p_value > CERTAIN || small || c->difference == 0)
		c->verdict = CHANGE_NOISE;
	else
		c->verdict = c->difference > 0 ? CHANGE_MORE : CHANGE_LESS;
}

struct rate_change change_over_time(const struct change_side *before,
				    const struct change_side *after)
{
	struct rate_change c = begin(before, after);
	struct blocks a, b;

	if (c.verdict != CHANGE_UNKNOWN || isnan(c.difference))
		return c;
	a = blocks_of(before);
	b = blocks_of(after);
	if (a.n >= FEWEST && b.n >= FEWEST)
		judge(&c, CHANGE_TEST_TIME, welch(&a, &b));
	return c;
}

struct rate_change change_by_samples(const struct change_side *before,
				     const struct change_side *after)
{
	struct rate_change c = begin(before, after);
	double seen[2] = {before->samples, after->samples};
	double over[2] = {(double)before->amount.covered_ns, (double)after->amount.covered_ns};

	if (c.verdict != CHANGE_UNKNOWN || isnan(c.difference) || c.before.gauge)
		return c;
	if (seen[0] + seen[1] > 0 && over[0] > 0 && over[1] > 0)
		judge(&c, CHANGE_TEST_SAMPLES, rate_test(seen, over));
	return c;
}

/* ------------------------------------------------------------------ as text */

const char *change_word(enum change_verdict v)
{
	static const char *const words[] = {
		"unknown", "no_earlier_data", "no_later_data", "noise", "more", "less"};

	return words[v];
}

static void put_side(struct jsonout *o, const char *key, const struct amount *a)
{
	jsonout_put_object(o, key);
	amount_put(o, a);
	jsonout_end_object(o);
}

void change_put(struct jsonout *o, const struct rate_change *c)
{
	put_side(o, "before", &c->before);
	put_side(o, "after", &c->after);
	jsonout_put_double(o, "change", c->difference);
	jsonout_put_double(o, "share", c->share);
	jsonout_put_text(o, "verdict", change_word(c->verdict));
	jsonout_put_double(o, "p_value", c->p_value);
	jsonout_put_text(o, "test", c->test);
}
