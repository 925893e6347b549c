/*
 * Private to src/store: the part of a profile's value before a given time. A value belongs evenly
 * to the interval of its profile, [start, start + length); a row with its own time belongs to that
 * time. The part in a range is the part before its end minus the part before its start, so that
 * adjacent ranges add up.
 *
 * Of a total V, round(V * x) units are in the first fraction x of the interval. A fixed order of
 * all units, in which those of each row are spread evenly, determines which rows they belong to:
 * row i has floor(value * level + offset) of its units below a level. So no row has a negative part
 * in a range, and sums of any rows over adjacent ranges add up, too.
 */
#pragma once

#include "store/chunk.h"

struct row_cut {
	int64_t start_ns, end_ns;
	const int64_t *values;
	const int64_t *times; /* 0 = none; NULL = no row has one */
	uint32_t n;
	bool alone;  /* rows are rounded individually: negative values, or too large a sum */
	int64_t sum; /* sum of the rows without a time */
};

/* Of a profile's interval. */
int64_t share_before(int64_t total, int64_t start_ns, int64_t end_ns, int64_t time_ns);
/* The time of a row that has one, clamped to its profile. */
int64_t row_moment(const struct chunk_head *head, int64_t time_ns);
/* The end of a profile; its start if it has no duration. */
int64_t profile_end(const struct chunk_head *head);
/* Whether it overlaps [from, until). */
bool profile_touches(const struct chunk_head *head, int64_t from_ns, int64_t until_ns);
/* Whether it is inside [from, until). */
bool profile_within(const struct chunk_head *head, int64_t from_ns, int64_t until_ns);
/* Whether the total in the head is sufficient to split it. */
bool column_cuts_evenly(const struct chunk_head *head, const struct chunk_column *column);

/* For all rows of a chunk, whose columns must stay valid. Replaces times by those of row_moment.
 */
void row_cut_init(struct row_cut *c, const struct chunk_head *head, const int64_t *values,
		  int64_t *times);
/* The part of every row before a given time. */
void row_cut_before(const struct row_cut *c, int64_t time_ns, int64_t *ret);
