/*
 * Counters of a program that only ever grow (what Go's heap, block and mutex profiles count since
 * the start) and what was added since the last look at them.
 *
 * Of the last look only numbers are kept, by the content hash of stack and labels, which is the
 * same in every dictionary of one seed: some 50 bytes for every row, not a profile.
 */
#pragma once

#include "base/map.h"
#include "base/vec.h"
#include "model/model.h"

/* All zero: there was no look yet. */
struct baseline {
	bool known;
	uint64_t kinds;	  /* hash of what the columns are */
	uint32_t columns; /* cumulative ones */
	struct map rows;  /* from content to place */
	VEC(int64_t) values;
	int64_t totals[PROFILE_MAX_TYPES];
};

enum baseline_outcome {
	BASELINE_FIRST, /* nothing to subtract: only the next look will tell */
	BASELINE_DELTA, /* the profile has what was added */
	BASELINE_RESET, /* the counters began anew: as if it were the first look */
};

/*
 * Leaves in the columns marked `cumulative` what was added since `before`, when that can be said;
 * `ret_next` is to be the next `before`. No two rows of the profile are equal
 * (profile_aggregate), and its dictionary has the seed it always had.
 *
 * Counters that fell tell that the program was started again. A little less in a few rows is
 * rounding (Go's clock rate is an estimate) and counts as nothing added.
 */
enum err baseline_subtract(const struct baseline *before, struct profile *p, const bool *cumulative,
			   struct baseline *ret_next, enum baseline_outcome *ret) MUST_CHECK;
void baseline_release(struct baseline *b);
