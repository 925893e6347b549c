/*
 * Private to src/store: coverage, the time during which a service was profiled. Rates are values
 * divided by it, so that a service profiled for ten seconds a minute has the same rate as one that
 * is profiled all the time.
 *
 * Per series and type, *covered* is the length of the union of the profiles' intervals. *Present*
 * is the time in which the series ran: from one profile to the next if that gap is at most twice
 * the median gap, else one median gap or the profile's length, whichever is longer. For several
 * series, with P the length of the union of their presence:
 *
 *	covered = P * (sum of covered) / (sum of present)
 *
 * For one series this is the union of its profiles; for many that are profiled continuously it is
 * the time in which any of them ran. A gauge counts as measured while it is present.
 *
 * Profiles of an hour that follow each other regularly are kept as one *run*. Which profiles form a
 * run depends on their times alone, not on the buckets, the order of arrival, or whether a roll-up
 * replaces them. So every query for a range gives the same answer.
 */
#pragma once

#include "base/map.h"
#include "store/question.h"

/* A profile, or a run of them. */
struct coverage_run {
	int64_t start_ns;   /* of the first */
	int64_t last_ns;    /* start of the last */
	int64_t end_ns;	    /* latest end of any profile in it */
	int64_t covered_ns; /* length of the union */
	uint64_t n;
	bool settled; /* from a roll-up, whose hour is already sorted */
};

struct coverage_list {
	VEC(struct coverage_run) runs;
	int64_t reach_ns; /* latest end, not counting the last run */
	int64_t gap_ns;	  /* between the last two profiles of the hour; 0 = unknown */
};

/* [start, end) */
struct coverage_time {
	int64_t start_ns, end_ns;
};

/* A gauge's last value before the range stays valid for this many median gaps. */
#define CARRIED_GAPS 4
/* How far before the range such a value is searched for. */
#define CARRIED_NS   INT64_C(3600000000000)

/* One series and type. */
struct coverage_line {
	uint32_t series, type;
	bool gauge;
	/* Profiles of the current hour, until all have been read. */
	VEC(struct coverage_run) waiting;
	struct coverage_list whole;
	struct coverage_list
		parts; /* the same, split at bucket boundaries; only if there are several buckets */
	int64_t before_ns; /* start of the last profile before the range; INT64_MIN = none */
	bool inside;	   /* a profile starts in the range */
	int64_t usual_ns;  /* median gap, set by coverage_finish */
	/* Sorted and disjoint, set by coverage_finish. */
	VEC(struct coverage_time) present;
	size_t first, end;		/* range of buckets with any presence */
	int64_t *covered, *presence;	/* per such bucket; one allocation, owned by `covered` */
	int64_t covered_ns, present_ns; /* of the range */
};

/* All zero is valid to release. */
struct coverage {
	int64_t from_ns, until_ns; /* of the range */
	int64_t first_ns, step_ns; /* of the buckets; by default one for the whole range */
	size_t buckets;
	size_t most_runs; /* per line; above this, irregular profiles are merged into runs, too */
	VEC(struct coverage_line) lines;
	struct map index;
};

void coverage_init(struct coverage *c, int64_t from_ns, int64_t until_ns);
/* Splits the range into buckets. */
void coverage_buckets(struct coverage *c, int64_t first_ns, int64_t step_ns, size_t n);
void coverage_release(struct coverage *c);

/* The bucket of a time in the range, and the end of that bucket. */
size_t coverage_bucket(const struct coverage *c, int64_t time_ns, int64_t *ret_end);

/* A run never spans more than one hour, the length of the shortest roll-up. */
#define COVERAGE_HOUR_NS INT64_C(3600000000000)

/* Finds or adds the line of a series and type. */
enum err coverage_line(struct coverage *c, uint32_t series, uint32_t type, bool gauge,
		       uint32_t *ret) MUST_CHECK;
/* Memory is charged to `q`, unless that is NULL. */
enum err coverage_add(struct coverage *c, struct question *q, uint32_t line,
		      const struct coverage_run *run) MUST_CHECK;
/* Turns the waiting profiles of an hour into runs. */
enum err coverage_settle(const struct coverage *c, struct question *q,
			 struct coverage_line *line) MUST_CHECK;
/* The mean gap between profiles of a run; 0 for a single profile. */
int64_t coverage_usual_gap(const struct coverage_run *run);
int coverage_by_start(const void *left, const void *right);
/* A chunk as a run of one profile, or a roll-up as a run of several. */
struct coverage_run coverage_of_chunk(const struct chunk_head *head);

/* Until when, within the range, the last gauge value before the range stays valid; the start of the
 * range if there is no such value. Call after coverage_finish. */
int64_t coverage_carried_until(const struct coverage *c, const struct coverage_line *line);
/* Computes every line; call after the last run was added. */
enum err coverage_finish(struct coverage *c, struct question *q) MUST_CHECK;
/* The time for which a line was present in a bucket. */
int64_t coverage_presence(const struct coverage_line *line, size_t bucket);
/* Coverage of several lines combined. `ret_points`, per bucket, may be NULL. */
enum err coverage_sum(const struct coverage *c, const uint32_t *lines, size_t n,
		      int64_t *ret_points, int64_t *ret_total) MUST_CHECK;
/* Coverage of all lines combined. */
enum err coverage_total(const struct coverage *c, int64_t *ret) MUST_CHECK;

/*
 * How far a finished coverage depends on its range: a range that begins before `from_ns` and ends at
 * `until_ns` or later gives the same coverage for the same profiles.
 */
struct coverage_reach {
	int64_t from_ns, until_ns;
};
struct coverage_reach coverage_reach(const struct coverage *c);

/* Accumulates several coverages into the time for which any series of a type was profiled. */
struct coverage_whole {
	struct str type;
	bool has_values;		 /* at least one value was found */
	VEC(struct coverage_time) times; /* when any line was present */
	size_t apart;			 /* the first `apart` of these are sorted and disjoint */
	__int128 covered, present;
};
void coverage_whole_release(struct coverage_whole *w);
/* Adds lines of a finished coverage of the same range. */
enum err coverage_whole_add(struct coverage_whole *w, const struct coverage *c,
			    const uint32_t *lines, size_t n) MUST_CHECK;
/* Adds the contents of another one of the same range. */
enum err coverage_whole_join(struct coverage_whole *w, __int128 covered_ns, __int128 present_ns,
			     const struct coverage_time *times, size_t n) MUST_CHECK;
/* Sorts and merges its times. */
void coverage_whole_tidy(struct coverage_whole *w);
/* As coverage_sum over all lines added. */
int64_t coverage_whole_total(struct coverage_whole *w);

/* Profile lengths are clamped to 0 … one day. */
#define PROFILE_LONGEST_NS INT64_C(86400000000000)
int64_t profile_length(int64_t duration_ns);
/* The last nanosecond of an interval; the time itself if the duration is 0. */
int64_t last_moment(int64_t time_ns, int64_t duration_ns);
