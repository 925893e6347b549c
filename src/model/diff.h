/*
 * The difference of two profiles: per function, absolute and as a share, optionally normalised to
 * the same total, and whether it is more than sampling noise.
 *
 * The test compares shares of samples, whatever the scale: given both counts, the first is binomial
 * with n1/(n1+n2) when nothing changed. A normal test above 20 samples, exact below;
 * Benjamini-Hochberg at 5 % over the rows with enough samples; a change under 0.1 percentage points
 * is noise. It treats samples as independent; a design effect can be given to widen it. The number
 * of samples comes from the period or a count column; without either the verdict is DIFF_UNKNOWN,
 * and diff_doubt() gives the reason.
 *
 * Both profiles are over one dictionary: the caller reads both into it, or merges them there.
 */
#pragma once

#include "model/top.h"

enum diff_verdict { DIFF_NOISE, DIFF_MORE, DIFF_LESS, DIFF_ADDED, DIFF_REMOVED, DIFF_UNKNOWN };

struct diff_row {
	uint32_t frame;
	int64_t flat[2], cum[2];	/* before, after, as measured */
	double flat_change, cum_change; /* after - before, after normalising if asked */
	double share_change;		/* of cum, in percentage points */
	double error;			/* half width of its 95 % interval, percentage points */
	double p_value;			/* of cum; 1 if unknown */
	double p_floor; /* the smallest p-value possible with its number of samples */
	enum diff_verdict verdict;
};

struct diff {
	int64_t totals[2];
	double samples[2]; /* observations behind the totals, for the test; 0 = unknown */
	double scale;	   /* the factor applied to `before` */
	struct diff_row *rows;
	size_t n;
	bool lines; /* rows are lines, not functions */
};

struct diff_options {
	int type[2];	/* column in each profile */
	bool normalise; /* scale before's total to after's */
	bool lines;
	double design_effect; /* 1 = independent samples */
};

enum err diff_build(const struct profile *before, const struct profile *after,
		    const struct diff_options *options, struct diff *ret) MUST_CHECK;
/* Why there are no verdicts, as text; NULL if there are. */
const char *diff_doubt(const struct diff *d);
#define DIFF_HEAP_ASSUMPTION                                                                     \
	"samples are counted as one in 512 KiB, as profilers of the heap take them unless told " \
	"otherwise"
void diff_release(struct diff *d);
struct jsonout;
/* Writes the member "change" of a row: exact if the values were not scaled. */
void diff_put_difference(struct jsonout *o, const int64_t values[2], double change);
/* Largest change of cum first (or of flat). */
void diff_sort(struct diff *d, const struct dict *dict, bool by_flat);
