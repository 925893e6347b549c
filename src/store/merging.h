/*
 * What answer_merge.c gathers from the partitions, and merging_finish.c makes a profile of.
 */
#pragma once

#include "store/coverage.h"
#include "store/gauge_cells.h"
#include "store/gauge_hold.h"
#include "store/question.h"

/* One sum: of a group, and for a gauge of one series, which has its values in cells instead. */
struct bucket {
	uint32_t group, series;
	struct sums local; /* by stack of the partition at hand */
	int64_t *total;	   /* by stack of the answer */
	size_t total_n;
};

struct merging {
	struct question q; /* first: handlers get it */
	struct profile *dst;
	struct grouping grouping;
	struct series_numbers numbers; /* a gauge's are those of its buckets */
	struct coverage coverage;
	/* Of a gauge: how long its profiles hold; sums by stack of the partition, and of the
	 * answer. */
	struct gauge_hold hold;
	struct hold_share share; /* of the profile at hand */
	struct gauge_cells local, total;
	/* Of a gauge whose rows are of roll-ups: the total, from profiles. */
	struct series_answer exact;
	bool rolled;
	VEC(struct bucket) buckets;
	struct map bucket_index;
	struct remap remap;
	int64_t first_ns, last_ns;
	__int128 rest; /* that the rounding of means has left */
	bool any;
	bool weighing; /* the second pass over a gauge: it is known how long profiles hold */
	/* How often was measured: what significance is judged by. */
	bool timed;	     /* values are times, and the period too */
	uint32_t count_type; /* of the partition: samples of the same kind; UINT32_MAX = none */
	double observed, observations;
};

struct type_id {
	struct str name, type, unit, period_type, period_unit;
};

/* "process_cpu:cpu:nanoseconds:cpu:nanoseconds" */
struct type_id merging_type(struct str id);
/* All groups into the profile, with its type, period and time. */
enum err merging_finish(struct merging *m) MUST_CHECK;
