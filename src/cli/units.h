/*
 * One unit for all values of a table, chosen as in pprof, so that values of a column can be
 * compared with each other and with `go tool pprof`.
 */
#pragma once

#include "base/buf.h"

struct scale {
	const char *name; /* "ms"; "" for plain numbers */
	double factor; /* value * factor / size is in that unit: in this order, as pprof rounds */
	double size;
	bool own_name; /* unknown unit: print the value unchanged */
	struct str unit;
};

/* |v|; the smallest value has no positive twin and becomes the largest. */
static inline int64_t magnitude_of(int64_t v)
{
	return v >= 0 ? v : v == INT64_MIN ? INT64_MAX : -v;
}

/* For values between `smallest` (not 0) and `total`. */
struct scale scale_choose(int64_t smallest, int64_t total, struct str unit);
/* For a single value. */
struct scale scale_of(int64_t value, struct str unit);
/* "1.25s", "340.50MB", "17", "0". */
void scale_put(struct buf *out, const struct scale *s, double value);
/* "12.50%", "  100%", "0.03%" in six columns. */
void share_put(struct buf *out, double part, double whole);
