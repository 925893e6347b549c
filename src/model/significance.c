#include "model/significance.h"

#include <math.h>
#include <stdlib.h>

#define NORMAL_FROM 20

/* log of n! / (k! (n-k)!) p^k (1-p)^(n-k) */
static double log_binomial(double k, double n, double p)
{
	int sign;
	double choose =
		lgamma_r(n + 1, &sign) - lgamma_r(k + 1, &sign) - lgamma_r(n - k + 1, &sign);

	return choose + (k > 0 ? k * log(p) : 0) + (n - k > 0 ? (n - k) * log1p(-p) : 0);
}

/* Twice the smaller tail: never below the truth. n is small here. */
static double exact_test(double first, double second, double p)
{
	double k = round(first), n = round(first) + round(second);
	double below = 0, above = 0, twice;

	for (double i = 0; i <= n; i++) {
		double chance = exp(log_binomial(i, n, p));

		below += i <= k ? chance : 0;
		above += i >= k ? chance : 0;
	}
	twice = 2 * (below < above ? below : above);
	return twice < 1 ? twice : 1;
}

static double normal_test(const double *seen, const double *of)
{
	double pooled = (seen[0] + seen[1]) / (of[0] + of[1]);
	double difference = seen[0] / of[0] - seen[1] / of[1];
	double variance = pooled * (1 - pooled) * (1 / of[0] + 1 / of[1]);

	return variance > 0 ? erfc(fabs(difference) / sqrt(2 * variance)) : 1;
}

double share_test(const double *seen, const double *of)
{
	double first = of[0] / (of[0] + of[1]);
	double missed[2] = {fmax(of[0] - seen[0], 0), fmax(of[1] - seen[1], 0)};

	if (!(of[0] > 0) || !(of[1] > 0))
		return 1;
	if (seen[0] + seen[1] <= NORMAL_FROM)
		return exact_test(seen[0], seen[1], first);
	/* For values of nearly all samples, test the complement. */
	if (missed[0] + missed[1] <= NORMAL_FROM)
		return exact_test(missed[0], missed[1], first);
	return normal_test(seen, of);
}

double rate_test(const double *seen, const double *over)
{
	double rate = (seen[0] + seen[1]) / (over[0] + over[1]);
	double difference = seen[0] / over[0] - seen[1] / over[1];
	double variance = rate * (1 / over[0] + 1 / over[1]);

	if (!(over[0] > 0) || !(over[1] > 0) || !(seen[0] + seen[1] > 0))
		return 1;
	if (seen[0] + seen[1] <= NORMAL_FROM)
		return exact_test(seen[0], seen[1], over[0] / (over[0] + over[1]));
	return erfc(fabs(difference) / sqrt(2 * variance));
}

/* The continued fraction of the incomplete beta function, from its end: 200 terms are enough for
 * all degrees of freedom that ten blocks can have. */
static double beta_fraction(double a, double b, double x)
{
	double value = 0;

	for (int m = 200; m > 0; m--) {
		double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
		double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));

		value = even / (1 + odd / (1 + value));
	}
	return 1 / (1 + -(a + b) * x / (a + 1) / (1 + value));
}

static double incomplete_beta(double a, double b, double x)
{
	int sign;
	double scale;

	if (x <= 0 || x >= 1)
		return x >= 1;
	if (x > (a + 1) / (a + b + 2))
		return 1 - incomplete_beta(b, a, 1 - x);
	scale = lgamma_r(a + b, &sign) - lgamma_r(a, &sign) - lgamma_r(b, &sign);
	return exp(scale + a * log(x) + b * log1p(-x)) / a * beta_fraction(a, b, x);
}

double student_test(double t, double freedom)
{
	if (!(freedom > 0) || isnan(t))
		return 1;
	return incomplete_beta(freedom / 2, 0.5, freedom / (freedom + t * t));
}

double share_test_floor(const double *seen, const double *of)
{
	double first = of[0] / (of[0] + of[1]);
	double present = round(seen[0]) + round(seen[1]);
	double missed = round(fmax(of[0] - seen[0], 0)) + round(fmax(of[1] - seen[1], 0));
	double n = fmin(present, missed);

	if (!(of[0] > 0) || !(of[1] > 0))
		return 1;
	return n > NORMAL_FROM ? 0 : fmin(2 * pow(fmin(first, 1 - first), n), 1);
}

static int ascending(const void *left, const void *right)
{
	const double *a = left, *b = right;

	return (*a > *b) - (*a < *b);
}

double discovery_limit(double *p, size_t n, double rate)
{
	if (n)
		qsort(p, n, sizeof(*p), ascending);
	for (size_t i = n; i > 0; i--)
		if (p[i - 1] <= rate * (double)i / (double)n)
			return p[i - 1];
	return -1;
}

/* The smallest K for which no more than K floors are below rate / K. */
double worthwhile_floor(double *floors, size_t n, double rate)
{
	size_t k = 1, below = n;

	if (n)
		qsort(floors, n, sizeof(*floors), ascending);
	for (; k < n; k++) {
		while (below && floors[below - 1] > rate / (double)k)
			below--;
		if (below <= k)
			break;
	}
	return rate / (double)k;
}
