/*
 * Operations on profiles: merge, aggregate, filter, scale and subtract. None changes its input;
 * results share the input's dictionary unless stated otherwise. `dst` is set only on success, and
 * need not be initialized before.
 */
#pragma once

#include "model/profile.h"
#include "model/types.h"

/* Merges rows with equal stack, labels, link and time; optionally drops rows with only zeros. */
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
 * added, ids are interned anew. Equal rows are merged. Time is the earliest, duration the sum,
 * period the largest, as in pprof; a period type that differs is dropped.
 *
 * `merge_finish` ends a merge: the value of a gauge is the mean over the profiles of one series
 * (equal resource), then summed over series. Resource attributes that all series share stay on the
 * profile, the others become labels of the rows. After an error `dst` can only be released.
 */
struct merge_state;
struct merge {
	struct profile *dst;
	uint32_t count;	 /* profiles in it */
	bool sum_gauges; /* sum gauges as pprof does; may be set until merge_finish */
	struct merge_state *state;
};
void merge_begin(struct merge *m, struct profile *dst);
enum err merge_add(struct merge *m, const struct profile *src) MUST_CHECK;
enum err merge_finish(struct merge *m) MUST_CHECK;
/* Aborts a merge; does nothing after merge_finish. */
void merge_release(struct merge *m);

/* Values times factor[type], rounded to nearest. */
enum err profile_scale(struct profile *p, const double *factor) MUST_CHECK;
/* dst -= src, for pprof's `diff_base`. Both over one dictionary; rows with only zeros are
 * dropped. */
enum err profile_subtract(struct profile *dst, const struct profile *src) MUST_CHECK;

/* Converts times and sizes in columns and period to nanoseconds and bytes. Values that do not fit
 * are clamped to int64 and counted. */
enum err profile_usual_units(struct profile *p, uint64_t *ret_clamped) MUST_CHECK;

struct pattern; /* pattern.h */

/* pprof's words: focus keeps stacks with a match, ignore drops them, hide removes frames, show
 * keeps only matching frames, show_from cuts everything above the outermost match. A pattern is
 * matched against function name, file and module. NULL = not used. The results are those of pprof,
 * except for `show` and a frame without a line, which pprof hides: here its module is matched. */
struct filter {
	const struct pattern *focus, *ignore, *hide, *show, *show_from;
	/* Label filters: all must match. A key that the row does not have is looked up in the
	 * resource and the attributes of the profile. */
	struct tag_filter {
		struct str key;
		/* Unanchored; a plain k=v is anchored by the caller. NULL = the key exists, or a
		 * number in the range. */
		const struct pattern *value;
		bool negate; /* must not match: pprof's tagignore */
		/* Numbers also match if they are in the range (tag_filter_range). */
		bool is_range;
		double min, max;
		enum unit_kind kind;
	} tags[16];
	uint32_t tag_count;
};

/* Reads "K", "K=V", "K=~RE", and with ! before = or ~ the negation. The caller compiles
 * `*ret_value` with `*ret_flags` into `ret->value`; p == NULL: no pattern. False if there is no
 * key. */
bool tag_filter_parse(struct str text, struct tag_filter *ret, struct str *ret_value,
		      unsigned *ret_flags);
/* Reads "4kb:1mb", "10ms:", ":64" or "32kb" into the range of a tag filter; false if the text is no
 * range. */
bool tag_filter_range(struct str text, struct tag_filter *ret);
/* Whether a label's number is in the range. */
bool tag_range_matches(const struct tag_filter *tag, const struct dict *d, const struct label *l);

struct filter_result {
	size_t rows_in, rows_out;
	double kept[PROFILE_MAX_TYPES]; /* remaining share of each type's total */
};

enum err profile_filter(const struct profile *src, const struct filter *f, struct profile *dst,
			struct filter_result *ret, struct fault *fault) MUST_CHECK;

/* Removes frames by the profile's own patterns (drop_frames, keep_frames), as pprof does. */
enum err profile_drop_frames(const struct profile *src, struct profile *dst,
			     struct fault *fault) MUST_CHECK;
