/*
 * Private to src/store: derived columns (model/types.h, TYPE_DERIVED) replace the measured column
 * of their type, per series and for the times without measured data. Both are stored, in any order;
 * each query decides which one counts.
 *
 * A derived profile counts unless at least half of its time was measured. Profiles without a
 * duration count as one second long, so that those of two requests overlap.
 *
 * Only the partition of the same day is searched: for a derived profile the part before midnight
 * decides, and measured profiles that begin soon after midnight are assumed to have measured before
 * it.
 */
#pragma once

#include "store/answer.h"

struct question;

/* Measured times of one series, sorted and disjoint. */
struct stand_in_time {
	uint32_t series, type; /* the measured type */
	int64_t from_ns, until_ns;
};

/* For the current partition. */
struct stand_in {
	struct arena arena;
	uint32_t *measured; /* per selected derived type: the measured one, or MAP_NONE */
	uint64_t *series,
		*types; /* bits: derived types with a measured one, and those measured types */
	bool any;
	int64_t day_ns; /* its start */
	VEC(struct stand_in_time) times;
};

/* Requires the partition's lock; call after its types and series were selected. */
enum err stand_in_begin(struct stand_in *s, const struct question *q) MUST_CHECK;
void stand_in_release(struct stand_in *s);
/* Reads the measured times; does nothing for nearly all partitions. */
enum err stand_in_read(struct stand_in *s, struct question *q) MUST_CHECK;
/* Whether measured data replaces the column. */
bool stand_in_yields(const struct stand_in *s, const struct chunk_head *head, uint32_t type);
