#include <math.h>

#include "../test.h"

#include "base/str.h"
#include "model/significance.h"

static double test(double a, double of_a, double b, double of_b)
{
	return share_test((double[]){a, b}, (double[]){of_a, of_b});
}

static bool near(double a, double b)
{
	return fabs(a - b) <= 1e-9 + 1e-6 * fabs(b);
}

/* Reference values: binomial tails by hand, normal ones from tables. */
TEST(few_samples_are_tested_exactly)
{
	CHECK(near(test(3, 100, 0, 100), 0.25));
	CHECK(near(test(0, 100, 3, 100), 0.25));
	CHECK(near(test(10, 1000, 0, 1000), 2.0 / 1024));
	CHECK(near(test(0, 300, 4, 100), 2.0 / 256));
	CHECK(test(5, 100, 5, 100) == 1);
	CHECK(test(0, 100, 0, 100) == 1);
}

TEST(many_samples_are_tested_by_the_normal_distribution)
{
	CHECK(near(test(60, 100, 40, 100), 0.004677734981047266));
	CHECK(test(500, 1000, 500, 1000) == 1);
	CHECK(test(9000, 10000, 100, 10000) < 1e-100);
}

TEST(what_nearly_all_samples_have_is_tested_by_the_others)
{
	CHECK(near(test(97, 100, 100, 100), 0.25));
	CHECK(test(100, 100, 100, 100) == 1);
}

TEST(nothing_observed_is_no_evidence)
{
	CHECK(test(0, 0, 5, 10) == 1);
	CHECK(test(0, 0, 0, 0) == 1);
	CHECK(test(5, 10, NAN, NAN) == 1);
}

/* The example of Benjamini and Hochberg's paper of 1995. */
TEST(false_discoveries_are_held_to_the_rate)
{
	double p[] = {0.0459, 0.0001, 0.7590, 0.0019, 0.0004, 0.0095, 0.0201, 1.0000,
		      0.0344, 0.0298, 0.3240, 0.0278, 0.4262, 0.5719, 0.6528};
	double none[] = {0.5, 0.9};

	CHECK(near(discovery_limit(p, 15, 0.05), 0.0095));
	CHECK(discovery_limit(none, 2, 0.05) < 0);
	CHECK(discovery_limit(none, 0, 0.05) < 0);
}

TEST(no_split_of_the_same_observations_is_below_the_floor)
{
	double of[2] = {300, 500};

	for (double n = 0; n <= 20; n++) {
		double all[] = {0, n}, floor = share_test_floor(all, of), least = 1;

		for (double k = 0; k <= n; k++) {
			double seen[] = {k, n - k};

			least = fmin(least, share_test(seen, of));
		}
		CHECK(fabs(floor - least) < 1e-9);
	}
}

TEST(tests_that_cannot_succeed_are_not_paid_for)
{
	double few[] = {1, 0.5, 0.0001, 1, 1, 0.25}, many[] = {0, 0, 0, 0};

	CHECK(near(worthwhile_floor(few, 6, 0.05), 0.05));
	CHECK(near(worthwhile_floor(many, 4, 0.05), 0.05 / 4));
	CHECK(near(worthwhile_floor(many, 0, 0.05), 0.05));
}

/* Quantiles of tables of Student's distribution. */
TEST(student_is_as_in_tables)
{
	CHECK(fabs(student_test(12.706, 1) - 0.05) < 1e-5);
	CHECK(fabs(student_test(2.228, 10) - 0.05) < 1e-4);
	CHECK(fabs(student_test(0.700, 10) - 0.50) < 1e-3);
	CHECK(fabs(student_test(3.169, 10) - 0.01) < 1e-4);
	CHECK(student_test(0, 5) == 1);
	CHECK(student_test(3, 0) == 1);
	CHECK(student_test(1e9, 18) < 1e-100);
}

TEST(rates_are_tested_by_the_time_they_took)
{
	CHECK(near(rate_test((double[]){10, 0}, (double[]){60, 60}), 2.0 / 1024));
	CHECK(rate_test((double[]){100, 600}, (double[]){10, 60}) == 1);
	CHECK(rate_test((double[]){100, 100}, (double[]){10, 60}) < 1e-20);
	CHECK(rate_test((double[]){0, 0}, (double[]){60, 60}) == 1);
	CHECK(rate_test((double[]){5, 5}, (double[]){0, 60}) == 1);
}
