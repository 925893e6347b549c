/*
 * Differences of cumulative counters: Go's heap, block and mutex profiles count since the start of
 * the program.
 *
 * Of the last profile only the values are kept, keyed by the content hash of stack and labels,
 * which is the same in every dictionary with the same seed: about 50 bytes per row.
 */
#pragma once

#include "base/map.h"
#include "base/vec.h"
#include "model/model.h"

/* All zero: no profile yet. */
struct baseline {
	bool known;
	uint64_t kinds;	  /* hash of the column types */
	uint32_t columns; /* cumulative ones */
	struct map rows;  /* content hash to index */
	VEC(int64_t) values;
	int64_t totals[PROFILE_MAX_TYPES];
};

enum baseline_outcome {
	BASELINE_FIRST, /* nothing to subtract yet */
	BASELINE_DELTA, /* the profile contains the difference */
	BASELINE_RESET, /* the counters were reset: as the first profile */
};

/*
 * Replaces the columns marked `cumulative` by their increase since `before`, if there is one;
 * `ret_next` becomes the next `before`. The rows of the profile must be distinct
 * (profile_aggregate), and its dictionary must always have the same seed.
 *
 * Decreasing counters mean that the program was restarted. Slightly lower values in a few rows are
 * rounding errors (Go's clock rate is an estimate) and count as no increase.
 */
enum err baseline_subtract(const struct baseline *before, struct profile *p, const bool *cumulative,
			   struct baseline *ret_next, enum baseline_outcome *ret) MUST_CHECK;
void baseline_release(struct baseline *b);
