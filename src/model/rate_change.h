/*
 * Compares an amount with an earlier one (docs/numbers.md): the ratio of their rates, and its
 * significance. Everything that compares two selections uses this.
 *
 * change_over_time: both sides have points over time. The covered points of each side are put into
 * ten blocks; Welch's t-test compares the rates of the blocks, each weighted by the time it covers.
 * The mean of the blocks is the rate of the side.
 *
 * change_by_samples: two files, which have no time series. If the rates are equal, samples are
 * proportional to the covered time: an exact binomial test up to 20 samples, a normal one above.
 */
#pragma once

#include "model/rate.h"

enum change_verdict {
	CHANGE_UNKNOWN,	   /* too little data */
	CHANGE_NO_EARLIER, /* nothing to compare with */
	CHANGE_NO_LATER,   /* no data after */
	CHANGE_NOISE,
	CHANGE_MORE,
	CHANGE_LESS,
};

struct change_side {
	struct amount amount;
	/* Its time series: values (NAN = not measured) and their covered time. */
	const double *values;
	const int64_t *covered;
	size_t n;
	double samples; /* number of samples; 0 = unknown */
};

#define CHANGE_TEST_TIME    "time_line"
#define CHANGE_TEST_SAMPLES "samples"

struct rate_change {
	struct amount before, after;
	double difference; /* of the rates */
	double share;	   /* difference / rate before; NAN = unknown */
	double p_value;	   /* NAN = not tested */
	const char *test;  /* one of these, or NULL */
	enum change_verdict verdict;
};

struct rate_change change_over_time(const struct change_side *before,
				    const struct change_side *after);
struct rate_change change_by_samples(const struct change_side *before,
				     const struct change_side *after);

/* "unknown", "no_earlier_data", "no_later_data", "noise", "more", "less" */
const char *change_word(enum change_verdict v);

/* Members "before", "after", "change", "share", "verdict", "p_value", "test". */
void change_put(struct jsonout *o, const struct rate_change *c);
