/*
 * Private to src/model: the state of a merge between its profiles (merge.c) and its end
 * (merge_finish.c).
 */
#pragma once

#include "model/ops.h"
#include "model/remap.h"
#include "model/rows.h"

/* The profiles with one resource: one producer over time. */
struct series {
	uint32_t resource;
	uint32_t profiles[PROFILE_MAX_TYPES]; /* that had the column */
};

/* How many units of dst one unit of src is (negative: the reverse); 0 = incompatible. */
int64_t merge_unit_ratio(const struct dict *d, uint32_t src, uint32_t dst);
void merge_scale_column(struct profile *p, uint32_t column, int64_t factor);

struct merge_state {
	struct remap remap;
	struct row_index rows;
	VEC(struct series) series;
	struct map series_index, comment_index, mapping_index;
	bool period_differs;
	/* The recording of the last profile, and the columns of its profiles so far. */
	int64_t last_time, last_duration;
	uint64_t last_columns;
};
