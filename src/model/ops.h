/*
 * What can be done to profiles before they are shown or written: merge, aggregate, filter, scale
 * and subtract. None changes its input; results share the input's dictionary unless said. A `dst`
 * that is written is set only on success, and need not be initialised before.
 */
#pragma once

#include "model/profile.h"
#include "model/types.h"

/* Rows with equal stack, labels, link and time become one; rows of only zeros go when asked. */
enum aggregate_flags {
	AGGREGATE_DROP_ZERO = 1 << 0,
	AGGREGATE_IGNORE_LABELS = 1 << 1, /* and links */
	AGGREGATE_IGNORE_TIME = 1 << 2,
};
enum err profile_aggregate(const struct profile *src, unsigned flags,
			   struct profile *dst) MUST_CHECK;

/*
 * Adds profiles to `dst` (initialised, perhaps empty), which may have another dictionary than they:
 * types are matched by name and unit, units of one kind become the finer one, missing types are
 * added, ids are interned anew. Equal rows become one as they come. Time is the earliest, duration
 * the sum, period the largest, as pprof merges; a period type that differs is forgotten.
 *
 * `merge_finish` ends a merge: the value of a gauge is the mean over the profiles of one series
 * (equal resource), then summed over series. Resource attributes that all series share stay on the
 * profile, the others become labels of the rows. After an error `dst` is only good for release.
 */
struct merge_state;
struct merge {
	struct profile *dst;
	uint32_t count;	 /* profiles in it */
	bool sum_gauges; /* add gauges as pprof does; may be set until merge_finish */
	struct merge_state *state;
};
void merge_begin(struct merge *m, struct profile *dst);
enum err merge_add(struct merge *m, const struct profile *src) MUST_CHECK;
enum err merge_finish(struct merge *m) MUST_CHECK;
/* Gives up a merge; not needed after merge_finish, but harmless. */
void merge_release(struct merge *m);

/* Values times factor[type], rounded to nearest. */
enum err profile_scale(struct profile *p, const double *factor) MUST_CHECK;
/* dst += -src: what `diff_base` means. Both over one dictionary; rows of only zeros go. */
enum err profile_subtract(struct profile *dst, const struct profile *src) MUST_CHECK;

/* Columns and period that are times or sizes in nanoseconds and bytes, whatever unit they came in.
 * Values that do not fit stay at the ends of int64 and are counted. */
enum err profile_usual_units(struct profile *p, uint64_t *ret_clamped) MUST_CHECK;

struct pattern; /* pattern.h */

/* pprof's words: focus keeps stacks with a match, ignore drops them, hide removes frames,
 * show keeps only matching frames, show_from cuts everything above the outermost match. A pattern
 * is tried on function name, file and module. NULL = not used. The results are pprof's, but for
 * show and a frame without a line: pprof hides it, here its module decides. */
struct filter {
	const struct pattern *focus, *ignore, *hide, *show, *show_from;
	/* Label filters: all must hold. A key the row does not have is looked for in the resource
	 * and the attributes of the profile. */
	struct tag_filter {
		struct str key;
		/* Unanchored; a plain k=v is anchored by the caller. NULL = the key exists, or a
		 * number in the range. */
		const struct pattern *value;
		bool negate; /* must not hold: pprof's tagignore */
		/* Numbers also match when they are in the range (tag_filter_range). */
		bool is_range;
		double min, max;
		enum unit_kind kind;
	} tags[16];
	uint32_t tag_count;
};

/* Reads "K", "K=V", "K=~RE", and with a ! before the = or ~ what must not be. `*ret_value` is the
 * pattern that `ret->value` is to be, compiled with `*ret_flags`; p == NULL: none. False when there
 * is no key. */
bool tag_filter_parse(struct str text, struct tag_filter *ret, struct str *ret_value,
		      unsigned *ret_flags);
/* Reads "4kb:1mb", "10ms:", ":64" or "32kb" into the range of a tag filter; false when the text is
 * none of these. */
bool tag_filter_range(struct str text, struct tag_filter *ret);
/* Whether a label is a number in the range. */
bool tag_range_matches(const struct tag_filter *tag, const struct dict *d, const struct label *l);

struct filter_result {
	size_t rows_in, rows_out;
	double kept[PROFILE_MAX_TYPES]; /* share of each type's total that is left */
};

enum err profile_filter(const struct profile *src, const struct filter *f, struct profile *dst,
			struct filter_result *ret, struct fault *fault) MUST_CHECK;

/* Removes what the profile itself asks to be removed (drop_frames, keep_frames), as pprof does. */
enum err profile_drop_frames(const struct profile *src, struct profile *dst,
			     struct fault *fault) MUST_CHECK;
