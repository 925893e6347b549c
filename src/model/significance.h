/*
 * Private to src/model: tests whether two shares differ significantly.
 */
#pragma once

#include <stddef.h>

/*
 * The probability, when both shares are the same, of a difference at least as large as between
 * seen[0] of `of[0]` and seen[1] of `of[1]` observations; two-sided. A normal test where more than
 * 20 were seen (and not seen), the exact binomial one given seen[0] + seen[1] elsewhere.
 */
double share_test(const double *seen, const double *of);

/*
 * The same of rates: seen[0] observations in a time of over[0] against seen[1] in over[1]. A normal
 * test above 20 observations, the exact binomial one below.
 */
double rate_test(const double *seen, const double *over);

/* The probability of a value of Student's t at least as far from 0 as `t`; two-sided. */
double student_test(double t, double freedom);

/*
 * The smallest p-value that share_test() can give for this number of observations: if all were on
 * one side. 0 if there are many.
 */
double share_test_floor(const double *seen, const double *of);

/*
 * Gilbert (2005), after Tarone: tests that cannot become significant need not be corrected for.
 * Returns the largest floor that is worth testing. Reorders `floors`.
 */
double worthwhile_floor(double *floors, size_t n, double rate);

/*
 * Benjamini and Hochberg: p-values up to the result are discoveries, with an expected false
 * discovery rate of at most `rate`. Negative if there are none. Reorders `p`.
 */
double discovery_limit(double *p, size_t n, double rate);
