/*
 * Private to src/store: how long each profile of a gauge holds inside a range: until the next of
 * its series, as long as the series is present (coverage.h). What the first brings was there before
 * it, if the series was. Roll-ups stand for as many profiles as they sum up, which share their
 * time.
 */
#pragma once

#include "store/coverage.h"

/* A profile; a roll-up; several of the same time. */
struct hold_mark {
	int64_t time_ns, until_ns; /* until: of a roll-up its end */
	uint64_t n;
};

struct hold_series {
	VEC(struct hold_mark) marks;
	uint32_t line; /* of the coverage */
};

/* All zero is valid and empty. */
struct gauge_hold {
	VEC(struct hold_series) series;
};

void gauge_hold_release(struct gauge_hold *h);
enum err gauge_hold_add(struct gauge_hold *h, struct question *q, uint32_t series, uint32_t line,
			const struct chunk_head *head) MUST_CHECK;
/* After the last. */
void gauge_hold_finish(struct gauge_hold *h);
/* How long profiles of a time hold together, and how many they are. */
struct hold_share {
	int64_t time_ns;
	uint64_t profiles;
};
/* After coverage_finish; of a profile that was not added, no time. Roll-ups may have come or gone
 * since profiles were added: then it is the share of those that were. */
struct hold_share gauge_hold_share(const struct gauge_hold *h, const struct coverage *c,
				   uint32_t series, const struct chunk_head *head);

/* What held for a time, summed up, as the mean over it: whole units, halves away from zero. */
static inline int64_t held_mean(__int128 held, int64_t time_ns)
{
	return (int64_t)((held + (held < 0 ? -time_ns : time_ns) / 2) / time_ns);
}

/* How long a line is present in [from, until). */
int64_t gauge_present(const struct coverage_line *line, int64_t from_ns, int64_t until_ns);

/* The rows of shorter ranges are those of profiles alone: roll-ups know the mean of an hour, and
 * not how long which of its values held. */
#define GAUGE_ROLLUPS_NS (2 * INT64_C(86400000000000))
/* How long roll-ups may be that answer for so long a range; 0 = none. */
int64_t gauge_rollup(int64_t span_ns);
