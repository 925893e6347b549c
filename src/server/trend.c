#include "server/trend.h"

#include <math.h>

#define BLOCKS	  10
#define FEWEST	  5    /* blocks of a side that say something */
#define THRESHOLD 3.0  /* standard errors: about 1 in 100 with so few blocks */
#define SMALLEST  0.05 /* changes below this share are of no interest */

struct sample {
	double mean, variance;
	size_t n;
};

static double mean_of(const double *values, size_t n)
{
	double sum = 0;
	size_t known = 0;

	for (size_t i = 0; i < n; i++)
		if (!isnan(values[i])) {
			sum += values[i];
			known++;
		}
	return known ? sum / (double)known : NAN;
}

/* The means of blocks of equal length, those where something was measured. */
static struct sample blocks_of(const double *values, size_t n)
{
	double block[BLOCKS];
	struct sample s = {.mean = NAN};
	size_t blocks = n < BLOCKS ? n : BLOCKS;

	for (size_t i = 0; i < blocks; i++) {
		size_t from = i * n / blocks, until = (i + 1) * n / blocks;
		double mean = mean_of(values + from, until - from);

		if (!isnan(mean))
			block[s.n++] = mean;
	}
	if (!s.n)
		return s;
	s.mean = mean_of(block, s.n);
	for (size_t i = 0; s.n > 1 && i < s.n; i++)
		s.variance += (block[i] - s.mean) * (block[i] - s.mean) / (double)(s.n - 1);
	return s;
}

static enum trend_verdict judge(const struct sample *a, const struct sample *b, double share)
{
	double error = sqrt(a->variance / (double)a->n + b->variance / (double)b->n);

	if (!(fabs(share) >= SMALLEST) || fabs(b->mean - a->mean) <= THRESHOLD * error)
		return TREND_NOISE;
	return b->mean > a->mean ? TREND_MORE : TREND_LESS;
}

struct trend trend_of(const double *before, size_t before_n, const double *after, size_t after_n)
{
	struct sample a = blocks_of(before, before_n), b = blocks_of(after, after_n);
	struct trend t = {.before = mean_of(before, before_n),
			  .after = mean_of(after, after_n),
			  .share = NAN};

	if (t.before > 0 && !isnan(t.after))
		t.share = (t.after - t.before) / t.before;
	if (a.n >= FEWEST && b.n >= FEWEST && !isnan(t.share))
		t.verdict = judge(&a, &b, t.share);
	return t;
}

const char *trend_word(enum trend_verdict v)
{
	static const char *const words[] = {"unknown", "noise", "more", "less"};

	return words[v];
}
