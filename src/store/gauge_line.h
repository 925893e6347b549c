/*
 * Private to src/store: gauges over time. Each value is valid until the next profile of its series.
 * A bucket gets the integral over the time in which the series was present (coverage.h), so that
 * the points add up to the mean over the whole range, for every bucket width. Roll-ups cannot be
 * used: they have neither the times of their values nor the end of the last one's validity.
 *
 * A *curve* is the part of a coverage line that belongs to one group. Values arrive in any order
 * and are sorted once all are there. If they do not fit into one portion, a value that arrives
 * after its portion was processed counts in its own bucket only, and a gap that looks usual is
 * assumed to be so.
 */
#pragma once

#include "store/coverage.h"

#define GAUGE_NO_CURVE UINT32_MAX

/* A profile of a line, or a value of a profile. */
struct gauge_entry {
	int64_t time_ns, value;
	uint32_t line, curve; /* GAUGE_NO_CURVE: the profile itself */
};

struct gauge_curve {
	__int128 *held; /* per bucket: sum of value × time */
	uint32_t line;
	uint32_t next;		 /* next curve of the line; GAUGE_NO_CURVE = none */
	uint32_t first_profiles; /* number of profiles at the first time */
	int64_t time_ns;	 /* time of `value` */
	int64_t value, first;	 /* sums over the profiles of one time */
};

struct gauge_state {
	uint32_t curves; /* first curve of the line */
	int64_t *held;	 /* per bucket: time for which values were valid */
	int64_t first_ns, last_ns;
	int64_t told_ns;   /* of the last profile added */
	int64_t least_gap; /* shortest gap; 0 = none yet */
	uint32_t profiles; /* number of profiles at the last time; 0 = none yet */
};

/* A value that is valid in [from, until) where its line is present, which is not known yet. */
struct gauge_unsure {
	uint32_t line, curve; /* GAUGE_NO_CURVE: the time alone */
	int64_t from_ns, until_ns, value;
	uint32_t profiles; /* number of profiles that `value` sums up */
};

/* All zero is valid and empty. */
struct gauge_lines {
	VEC(struct gauge_entry) entries;
	bool mixed; /* not sorted */
	bool ended; /* all were added, so that presence is known */
	VEC(struct gauge_curve) curves;
	VEC(struct gauge_state) states; /* by line */
	VEC(struct gauge_unsure) unsure;
};

void gauge_lines_release(struct gauge_lines *g);
enum err gauge_lines_curve(struct gauge_lines *g, struct question *q, const struct coverage *c,
			   uint32_t line, uint32_t *ret) MUST_CHECK;
enum err gauge_lines_profile(struct gauge_lines *g, struct question *q, const struct coverage *c,
			     uint32_t line, const struct chunk_head *head) MUST_CHECK;
/* Adds a value of a profile that was added, which began at `time_ns`. */
enum err gauge_lines_value(struct gauge_lines *g, uint32_t curve, int64_t time_ns,
			   int64_t value) MUST_CHECK;
/* Computes `held` of every curve. Call after coverage_finish. */
enum err gauge_lines_finish(struct gauge_lines *g, struct question *q,
			    const struct coverage *c) MUST_CHECK;
