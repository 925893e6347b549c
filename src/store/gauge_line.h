/*
 * Private to src/store: gauges over time. Each profile's value holds until the next of its series;
 * a bucket has the integral over the time in which the series was present (coverage.h), so that
 * points add up to the mean over the whole range, whatever their width. Roll-ups are of no use:
 * they know neither when their values came nor until when the last held.
 *
 * A *curve* is what of a line of the coverage belongs to one group. Values come in any order; they
 * are put into order when all are there. Of more than fit into a portion, what comes later than the
 * portion it belongs to counts in its bucket alone, and gaps that look usual are taken to be so.
 */
#pragma once

#include "store/coverage.h"

#define GAUGE_NO_CURVE UINT32_MAX

/* A profile of a line, or a value in it. */
struct gauge_entry {
	int64_t time_ns, value;
	uint32_t line, curve; /* GAUGE_NO_CURVE: that there was a profile */
};

struct gauge_curve {
	__int128 *held;		 /* per bucket: value × time */
	uint32_t next;		 /* of the line; GAUGE_NO_CURVE = the last */
	uint32_t first_profiles; /* of the time of the first */
	int64_t time_ns;	 /* that the value is of */
	int64_t value, first;	 /* sums over the profiles of a time */
};

struct gauge_state {
	uint32_t curves; /* the first one */
	int64_t *held;	 /* per bucket: time that values held */
	int64_t first_ns, last_ns;
	int64_t told_ns;   /* of the last that was told of */
	int64_t least_gap; /* 0 = none yet */
	uint32_t profiles; /* of the time of the last; 0 = none yet */
};

/* A value that holds for this time as far as its line is present, which is not known yet. */
struct gauge_unsure {
	uint32_t line, curve; /* no curve: the time alone */
	int64_t from_ns, until_ns, value;
	uint32_t profiles; /* that the value is the sum of */
};

/* All zero is valid and empty. */
struct gauge_lines {
	VEC(struct gauge_entry) entries;
	bool mixed; /* not in order */
	bool ended; /* all have come: it is known when lines were present */
	VEC(struct gauge_curve) curves;
	VEC(struct gauge_state) states; /* by line */
	VEC(struct gauge_unsure) unsure;
};

void gauge_lines_release(struct gauge_lines *g);
enum err gauge_lines_curve(struct gauge_lines *g, struct question *q, const struct coverage *c,
			   uint32_t line, uint32_t *ret) MUST_CHECK;
enum err gauge_lines_profile(struct gauge_lines *g, struct question *q, const struct coverage *c,
			     uint32_t line, const struct chunk_head *head) MUST_CHECK;
/* A value of the profile that was told of last. */
enum err gauge_lines_value(struct gauge_lines *g, uint32_t curve, int64_t value) MUST_CHECK;
/* After coverage_finish: of every curve the integral in every bucket, in `held`. */
enum err gauge_lines_finish(struct gauge_lines *g, struct question *q,
			    const struct coverage *c) MUST_CHECK;
