/*
 * What can be done to profiles before they are shown or written: merge, aggregate, filter, scale
 * and subtract. None changes its input; results share the input's dictionary unless said.
 */
#pragma once

#include "model/profile.h"

/* Rows with equal stack, labels, link and time become one; rows of only zeros go when asked. */
enum aggregate_flags {
	AGGREGATE_DROP_ZERO = 1 << 0,
	AGGREGATE_IGNORE_LABELS = 1 << 1, /* and links */
	AGGREGATE_IGNORE_TIME = 1 << 2,
};
enum err profile_aggregate(const struct profile *src, unsigned flags,
			   struct profile *dst) MUST_CHECK;

/*
 * Adds `src` to `dst` (initialised, perhaps empty), which may have another dictionary: types are
 * matched by name and unit, missing ones are added, ids are interned anew. Resource attributes
 * that differ become labels of the rows. Time is the earliest, duration the sum, period the
 * largest, as pprof merges. `merge_finish` ends a merge: it aggregates and turns sums of gauges
 * into means over the `merged` profiles of one series.
 */
struct merge {
	struct profile *dst;
	uint32_t count;
	bool sum_gauges;		     /* add gauges as pprof does */
	VEC(uint32_t) string_ids, frame_ids; /* memo of the current source dictionary */
};
void merge_begin(struct merge *m, struct profile *dst);
enum err merge_add(struct merge *m, const struct profile *src) MUST_CHECK;
enum err merge_finish(struct merge *m) MUST_CHECK;
void merge_release(struct merge *m);

/* Values times factor[type], rounded to nearest. */
enum err profile_scale(struct profile *p, const double *factor) MUST_CHECK;
/* dst += -src: what `diff_base` means. Both over one dictionary. */
enum err profile_subtract(struct profile *dst, const struct profile *src) MUST_CHECK;

struct pattern; /* pattern.h */

/* pprof's words: focus keeps stacks with a match, ignore drops them, hide removes frames,
 * show keeps only matching frames, show_from cuts everything above the outermost match. A pattern
 * is tried on function name, file and module. NULL = not used. */
struct filter {
	const struct pattern *focus, *ignore, *hide, *show, *show_from;
	/* Label filters: all must hold; value NULL = the key exists. */
	struct tag_filter {
		struct str key;
		const struct pattern *value; /* unanchored; a plain k=v is anchored by the caller */
	} tags[16];
	uint32_t tag_count;
};

struct filter_result {
	size_t rows_in, rows_out;
	double kept[PROFILE_MAX_TYPES]; /* share of each type's total that is left */
};

enum err profile_filter(const struct profile *src, const struct filter *f, struct profile *dst,
			struct filter_result *ret, struct fault *fault) MUST_CHECK;

/* Removes what the profile itself asks to be removed (drop_frames, keep_frames), as pprof does. */
enum err profile_drop_frames(const struct profile *src, struct profile *dst,
			     struct fault *fault) MUST_CHECK;
