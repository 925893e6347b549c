#include <math.h>

#include "../test.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/jsonout.h"
#include "base/str.h"
#include "model/rate_change.h"

#define MOST 240

/* A time line of points of ten seconds. */
struct line {
	double values[MOST];
	int64_t covered[MOST];
	struct change_side side;
};

static void add(struct line *l, double cores, double covered_s)
{
	struct change_side *s = &l->side;

	l->values[s->n] = covered_s > 0 ? cores * covered_s * NS_PER_S : NAN;
	l->covered[s->n] = (int64_t)(covered_s * NS_PER_S);
	s->amount.total += covered_s > 0 ? l->values[s->n] : 0;
	s->amount.covered_ns += l->covered[s->n];
	s->amount.range_ns += 10 * NS_PER_S;
	s->n++;
	s->values = l->values;
	s->covered = l->covered;
}

static void fill(struct line *l, double cores, double wobble, size_t n, size_t every)
{
	*l = (struct line){0};
	for (size_t i = 0; i < n; i++)
		add(l, cores + wobble * (double)(i * 7919 % 13) / 12, i % every ? 0 : 10);
}

static struct rate_change compare(double before, double after, double wobble, size_t n)
{
	struct line a, b;

	fill(&a, before, wobble, n, 1);
	fill(&b, after, wobble, n, 1);
	return change_over_time(&a.side, &b.side);
}

TEST(a_change_is_more_than_what_moves_anyway)
{
	CHECK_INT(compare(10, 20, 2, 60).verdict, CHANGE_MORE);
	CHECK_INT(compare(20, 10, 2, 60).verdict, CHANGE_LESS);
	CHECK_INT(compare(10, 10, 2, 60).verdict, CHANGE_NOISE);
	/* Small, though certain. */
	CHECK_INT(compare(1000, 1010, 1, 60).verdict, CHANGE_NOISE);
	/* Large, but nothing beside how it moves. */
	CHECK_INT(compare(1, 1.1, 100, 60).verdict, CHANGE_NOISE);
	CHECK_INT(compare(10, 10, 0, 10).verdict, CHANGE_NOISE);
	CHECK_INT(compare(10, 12, 0, 10).verdict, CHANGE_MORE);
	CHECK_INT(compare(10, 20, 2, 4).verdict, CHANGE_UNKNOWN);
}

TEST(a_change_is_the_ratio_of_two_rates)
{
	struct rate_change c = compare(0.45, 1.9, 0, 60);

	CHECK(fabs(c.share - 1.45 / 0.45) < 1e-12);
	CHECK(fabs(c.difference - 1.45e9) < 1);
	CHECK_INT(c.verdict, CHANGE_MORE);
	CHECK_STR(str_of(c.test), "time_line");
	CHECK(c.p_value <= 0.01);
}

TEST(another_upload_interval_is_no_change)
{
	struct line every, sixth;

	fill(&every, 0.45, 0, 60, 1);
	fill(&sixth, 0.45, 0, 60, 6);
	CHECK_INT(change_over_time(&every.side, &sixth.side).verdict, CHANGE_NOISE);
	CHECK(fabs(change_over_time(&every.side, &sixth.side).share) < 1e-12);
	CHECK_INT(change_over_time(&sixth.side, &every.side).verdict, CHANGE_NOISE);
}

TEST(a_version_that_ran_shorter_is_no_change)
{
	struct line whole, part = {0};

	fill(&whole, 0.45, 0.1, 60, 1);
	for (size_t i = 0; i < 60; i++)
		add(&part, 0.45 + 0.1 * (double)(i * 7919 % 13) / 12, i < 20 ? 10 : 0);
	CHECK_INT(change_over_time(&whole.side, &part.side).verdict, CHANGE_NOISE);
}

/* Blocks that cover little tell little: a burst in a second of them does not make the mean. */
TEST(the_mean_of_the_blocks_is_the_rate)
{
	struct line a = {0}, b = {0};
	struct rate_change c;

	for (size_t i = 0; i < 10; i++) {
		add(&a, 1 + (double)(i % 3) / 10, 10);
		add(&b, i ? 1 + (double)(i % 3) / 10 : 5, i ? 10 : 0.1);
	}
	c = change_over_time(&a.side, &b.side);
	CHECK_INT(c.verdict, CHANGE_NOISE);
	CHECK(c.share < 0.02);
}

TEST(no_earlier_data_is_no_change_and_no_noise)
{
	struct line some, none = {0};

	fill(&some, 1, 0, 60, 1);
	CHECK_INT(change_over_time(&none.side, &some.side).verdict, CHANGE_NO_EARLIER);
	CHECK(isnan(change_over_time(&none.side, &some.side).share));
	CHECK(isnan(change_over_time(&none.side, &some.side).p_value));
	CHECK_INT(change_over_time(&some.side, &none.side).verdict, CHANGE_NO_LATER);
	CHECK_INT(change_by_samples(&none.side, &some.side).verdict, CHANGE_NO_EARLIER);
	CHECK_STR(str_of(change_word(CHANGE_NO_EARLIER)), "no_earlier_data");
}

TEST(what_used_nothing_before_has_a_verdict_and_no_share)
{
	struct rate_change c = compare(0, 2, 0, 60);

	CHECK_INT(c.verdict, CHANGE_MORE);
	CHECK(isnan(c.share));
	CHECK_INT(compare(0, 0, 0, 60).verdict, CHANGE_NOISE);
}

TEST(gauges_are_compared_by_their_means)
{
	struct line a, b;

	fill(&a, 10, 1, 60, 1);
	fill(&b, 15, 1, 60, 1);
	for (size_t i = 0; i < 60; i++) {
		a.values[i] /= 10 * NS_PER_S;
		b.values[i] /= 10 * NS_PER_S;
	}
	a.side.amount =
		(struct amount){.total = 10, .covered_ns = 600, .range_ns = 600, .gauge = true};
	b.side.amount =
		(struct amount){.total = 15, .covered_ns = 600, .range_ns = 600, .gauge = true};
	CHECK_INT(change_over_time(&a.side, &b.side).verdict, CHANGE_MORE);
	CHECK(change_over_time(&a.side, &b.side).share == 0.5);
}

static struct change_side counted(double samples, double seconds)
{
	return (struct change_side){.amount = {.total = samples * 1e7,
					       .covered_ns = (int64_t)(seconds * NS_PER_S),
					       .range_ns = (int64_t)(seconds * NS_PER_S)},
				    .samples = samples};
}

static struct rate_change count(double a, double a_s, double b, double b_s)
{
	struct change_side before = counted(a, a_s), after = counted(b, b_s);

	return change_by_samples(&before, &after);
}

TEST(files_are_compared_by_samples_in_the_time_they_cover)
{
	CHECK_INT(count(1000, 10, 2000, 20).verdict, CHANGE_NOISE);
	CHECK_INT(count(1000, 10, 2000, 10).verdict, CHANGE_MORE);
	CHECK_INT(count(2000, 10, 2000, 20).verdict, CHANGE_LESS);
	CHECK_STR(str_of(count(1000, 10, 2000, 20).test), "samples");
	/* A few samples prove nothing. */
	CHECK_INT(count(3, 10, 6, 10).verdict, CHANGE_NOISE);
	CHECK_INT(count(0, 10, 12, 10).verdict, CHANGE_MORE);
}

TEST(files_without_a_length_or_samples_get_no_verdict)
{
	CHECK_INT(count(1000, 0, 2000, 20).verdict, CHANGE_UNKNOWN);
	CHECK_INT(count(1000, 10, 2000, 0).verdict, CHANGE_UNKNOWN);
	CHECK(count(1000, 10, 2000, 0).test == NULL);
}

TEST(a_change_is_written_with_both_sides)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(4096);
	struct jsonout o = jsonout_of(&out, false);
	struct change_side before = counted(100, 60), after = counted(0, 0);
	struct rate_change c = change_by_samples(&before, &after);

	jsonout_object(&o);
	change_put(&o, &c);
	jsonout_end_object(&o);
	CHECK_STR(buf_view(&out),
		  "{\"before\":{\"total\":1000000000,\"rate\":16666666.666666666,\"average\":"
		  "16666666.666666666,\"covered_ns\":60000000000,\"coverage\":1},\"after\":{"
		  "\"total\":0,\"rate\":null,\"average\":null,\"covered_ns\":0,\"coverage\":null},"
		  "\"change\":null,\"share\":null,\"verdict\":\"no_later_data\",\"p_value\":null,"
		  "\"test\":null}");
}
