#include "sdk/poisson.h"

#include <string.h>
#include <time.h>

#include "base/hash.h"

/* ln, so that libm is not needed: x = m * 2^e, and the series of atanh for m near 1. */
static double natural_log(double x)
{
	u64 bits;
	int exponent;
	double m, z, square, power, sum = 0;

	memcpy(&bits, &x, sizeof(bits));
	exponent = (int)(bits >> 52 & 0x7ff) - 1023;
	bits = (bits & ~(0x7ffull << 52)) | 1023ull << 52;
	memcpy(&m, &bits, sizeof(m));
	if (m > 1.4142135623730951) {
		m /= 2;
		exponent++;
	}
	z = (m - 1) / (m + 1);
	square = z * z;
	power = z;
	for (int i = 1; i < 20; i += 2, power *= square)
		sum += power / i;
	return 2 * sum + exponent * 0.6931471805599453;
}

/* 1 - exp(-x) for x >= 0, also where x is tiny. */
static double one_minus_exp(double x)
{
	double small = x / 1024, sum = 0, term = small;

	if (x > 40)
		return 1;
	/* expm1(-x / 1024) by its series, then squared ten times: (1 - a)^2 = 1 - (2a - a^2). */
	for (int i = 2; i < 10; i++) {
		sum += term;
		term *= -small / i;
	}
	for (int i = 0; i < 10; i++)
		sum = 2 * sum - sum * sum;
	return sum;
}

void poisson_weights(u64 size, u64 interval, double *ret_count, double *ret_sum)
{
	double p = one_minus_exp((double)size / (double)interval);

	*ret_count = p > 0 ? 1 / p : 0;
	*ret_sum = p > 0 ? (double)size / p : 0;
}

double poisson_distance(double uniform, double mean)
{
	return -natural_log(uniform) * mean;
}

double poisson_uniform(u64 *state)
{
	/* splitmix64; 53 bits, never 0. */
	u64 x = *state += HASH_K1;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return (double)((x ^ x >> 31) >> 11 | 1) / 9007199254740992.0;
}

u64 poisson_seed(const void *own)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return hash_mix((u64)now.tv_nsec, (u64)(uintptr_t)own) | 1;
}

s64 poisson_round(u64 *state, double weight)
{
	s64 whole = (s64)weight;

	return whole + (poisson_uniform(state) < weight - (double)whole ? 1 : 0);
}
