/*
 * The state of a merge: answer_merge.c collects it from the partitions, merging_finish.c makes the
 * profile.
 */
#pragma once

#include "store/coverage.h"
#include "store/gauge_cells.h"
#include "store/gauge_hold.h"
#include "store/question.h"

/* The sums of a group. */
struct bucket {
	struct sums local; /* by stack of the current partition */
	int64_t *total;	   /* by stack of the result */
	size_t total_n;
};

struct merging {
	struct question q; /* must be first: handlers cast it */
	struct profile *dst;
	struct grouping grouping;
	struct series_numbers numbers;
	struct coverage coverage;
	/* For a gauge: how long its profiles are valid; sums by stack of the current partition, and
	 * of the result. */
	struct gauge_hold hold;
	struct hold_share share; /* of the current profile */
	struct gauge_cells local, total;
	VEC(struct bucket) buckets; /* by group; none for a gauge */
	struct remap remap;
	int64_t first_ns, last_ns;
	__int128 rest; /* remainder of rounding means, carried over to the next */
	bool any;
	bool weighing; /* second pass over a gauge, with known validity times */
	/* Number of observations, for significance tests. */
	bool timed;	     /* values and period are times */
	uint32_t count_type; /* sample count type in the partition; UINT32_MAX = none */
	double observed, observations;
};

struct type_id {
	struct str name, type, unit, period_type, period_unit;
};

/* "process_cpu:cpu:nanoseconds:cpu:nanoseconds" */
struct type_id merging_type(struct str id);
/* Writes all groups into the profile and sets its type, period and time. */
enum err merging_finish(struct merging *m) MUST_CHECK;
