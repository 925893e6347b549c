/*
 * Private to src/store: which part of a profile's value lies before a moment. A value belongs to
 * the interval of its profile, [start, start + length), evenly; a row with a time of its own
 * belongs there. What lies in a range is what lies before its end less what lies before its
 * beginning, so that ranges side by side add up.
 *
 * Every unit of a value has its place in time: of a total V, round(V * x) units lie in the first
 * part x of the interval. Which rows they are of is decided once and for all by one order of the
 * units, in which each row's are spread evenly: row i has floor(value * level + offset) of its
 * units below a level. So no row ever has less than nothing in a range, and sums of any rows over
 * ranges side by side add up, too.
 */
#pragma once

#include "store/chunk.h"

struct row_cut {
	int64_t start_ns, end_ns;
	const int64_t *values;
	const int64_t *times; /* 0 = none of its own; NULL = no row has one */
	uint32_t n;
	bool alone;  /* rows are rounded each by itself: negative values, or too large a sum */
	int64_t sum; /* of the rows without a time */
};

/* Of a profile's interval. */
int64_t share_before(int64_t total, int64_t start_ns, int64_t end_ns, int64_t time_ns);
/* Where a row belongs that says when it was: inside its profile. */
int64_t row_moment(const struct chunk_head *head, int64_t time_ns);
/* The end of a profile; its start where it is a moment. */
int64_t profile_end(const struct chunk_head *head);
/* Whether some of it lies in [from, until). */
bool profile_touches(const struct chunk_head *head, int64_t from_ns, int64_t until_ns);
/* Whether all of it does. */
bool profile_within(const struct chunk_head *head, int64_t from_ns, int64_t until_ns);
/* Whether the total in the head is enough to cut it. */
bool column_cuts_evenly(const struct chunk_head *head, const struct chunk_column *column);

/* Over the whole of a chunk's columns, which stay where they are. Times become those of row_moment.
 */
void row_cut_init(struct row_cut *c, const struct chunk_head *head, const int64_t *values,
		  int64_t *times);
/* What of every row lies before a moment. */
void row_cut_before(const struct row_cut *c, int64_t time_ns, int64_t *ret);
