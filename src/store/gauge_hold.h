/*
 * Private to src/store: for how long each gauge profile is valid inside a range: until the next one
 * of its series, as long as the series is present (coverage.h). The first profile's values also
 * apply to the part of the range before it, if the series was present there. Roll-ups cannot be
 * used: they do not store for how long each value was valid.
 */
#pragma once

#include "store/coverage.h"

/* The profiles of one time. */
struct hold_mark {
	int64_t time_ns;
	uint64_t n;
};

struct hold_series {
	VEC(struct hold_mark) marks;
	uint32_t line; /* index in the coverage */
};

/* All zero is valid and empty. */
struct gauge_hold {
	VEC(struct hold_series) series;
};

void gauge_hold_release(struct gauge_hold *h);
enum err gauge_hold_add(struct gauge_hold *h, struct question *q, uint32_t series, uint32_t line,
			int64_t time_ns) MUST_CHECK;
/* Call after the last gauge_hold_add. */
void gauge_hold_finish(struct gauge_hold *h);
/* For how long the profiles of one time are valid, all together, and their number. */
struct hold_share {
	int64_t time_ns;
	uint64_t profiles;
};
/* Call after coverage_finish. A profile that was not added gets no time. */
struct hold_share gauge_hold_share(const struct gauge_hold *h, const struct coverage *c,
				   uint32_t series, int64_t time_ns);

/* The mean of a sum of value × time over a time, rounded to whole units, halves away from zero. */
static inline int64_t held_mean(__int128 held, int64_t time_ns)
{
	return (int64_t)((held + (held < 0 ? -time_ns : time_ns) / 2) / time_ns);
}

/* The time for which a line is present in [from, until). */
int64_t gauge_present(const struct coverage_line *line, int64_t from_ns, int64_t until_ns);
