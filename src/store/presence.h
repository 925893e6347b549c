/*
 * Private to src/store: when the series of a gauge were there. A value of a gauge holds until the
 * next profile of its series, where that comes about when it usually does; who was there for a
 * tenth of a time counts for a tenth in the mean over it.
 */
#pragma once

#include "base/vec.h"

/* `counts`: profiles of a series in each of `n` points. Sets `ret_from[i]` to the point whose value
 * holds at point i: i itself, an earlier one, or `n` where the series was not there. */
void presence_hold(const uint32_t *counts, size_t n, uint32_t *ret_from);

/* ------------------------------------------------------------------ the mean over a range */

#define PRESENCE_POINTS 256

/* A bit per point. */
struct presence_bits {
	uint64_t words[PRESENCE_POINTS / 64];
};

struct presence_series {
	struct presence_bits seen;     /* it had a profile */
	struct presence_bits measured; /* with something in it that is asked for */
};

/* All zero is valid to release. */
struct presence {
	int64_t first_ns, step_ns;
	size_t points; /* at least one */
	VEC(struct presence_series) series;
};

/* Width of the points of a time line over so long a time: at most about 240 of them. */
int64_t presence_step(int64_t span_ns);

void presence_init(struct presence *p, int64_t from_ns, int64_t until_ns);
void presence_release(struct presence *p);
/* A series had a profile at a time. */
enum err presence_mark(struct presence *p, uint32_t series, int64_t time_ns) MUST_CHECK;
/* And it held something that is asked for. */
void presence_measure(struct presence *p, uint32_t series, int64_t time_ns);
/* For each series in how many points it was there, by all in which the time line has a value. */
void presence_shares(const struct presence *p, double *ret);
