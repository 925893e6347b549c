/*
 * Private to src/store: how long was profiled. Values are divided by it ("while it ran"), so that a
 * service that is profiled ten seconds a minute has the rate of one that is profiled all the time.
 *
 * Per series and type: *covered* is the length of the union of its profiles' intervals, *present*
 * that of the time in which it ran: from one profile to the next, where that is at most twice as
 * far as usual (the median), else for one usual gap or as long as the profile. Over several series,
 * with P the length of the union of their presence:
 *
 *	covered = P * (sum of covered) / (sum of present)
 *
 * which for one series is the union of its profiles, and for many that are profiled all the time
 * the time in which any ran. A gauge is measured while it is present.
 *
 * Profiles of an hour that follow each other regularly are kept as one *run*. Which do depends on
 * nothing but their times: neither on the buckets, nor on the order in which they came, nor on
 * whether a roll-up stands for them. So every question about a range has one answer.
 */
#pragma once

#include "base/map.h"
#include "store/question.h"

/* A profile, or a run of them. */
struct coverage_run {
	int64_t start_ns;   /* of the first */
	int64_t last_ns;    /* start of the last */
	int64_t end_ns;	    /* of the one that ends last */
	int64_t covered_ns; /* length of the union */
	uint64_t n;
	bool settled; /* of a roll-up, which has put its hour in order */
};

struct coverage_list {
	VEC(struct coverage_run) runs;
	int64_t reach_ns; /* where all but the last of them ended */
	int64_t gap_ns;	  /* between the last two profiles of the hour; 0 = not known */
};

/* [start, end) */
struct coverage_time {
	int64_t start_ns, end_ns;
};

/* A value of a gauge from before the range holds for so many usual gaps. */
#define CARRIED_GAPS 4
/* So far before the range a value is looked for. */
#define CARRIED_NS   INT64_C(3600000000000)

/* One series and type. */
struct coverage_line {
	uint32_t series, type;
	bool gauge;
	/* Profiles of an hour, until they are all there. */
	VEC(struct coverage_run) waiting;
	struct coverage_list whole;
	struct coverage_list parts; /* that end with a bucket, where there are several */
	int64_t before_ns; /* start of the last that starts before the range; INT64_MIN = none */
	bool inside;	   /* one starts in the range */
	int64_t usual_ns;  /* when it ends: from one to the next */
	/* When it ends: in order and apart. */
	VEC(struct coverage_time) present;
	size_t first, end;		/* the buckets that have any of it; the others have none */
	int64_t *covered, *presence;	/* in these; of one allocation, which is `covered` */
	int64_t covered_ns, present_ns; /* of the range */
};

/* All zero is valid to release. */
struct coverage {
	int64_t from_ns, until_ns; /* of the range */
	int64_t first_ns, step_ns; /* of the buckets; one that holds the whole range by itself */
	size_t buckets;
	size_t most_runs; /* of a line; from here on also what is not regular becomes one */
	VEC(struct coverage_line) lines;
	struct map index;
};

void coverage_init(struct coverage *c, int64_t from_ns, int64_t until_ns);
/* Buckets of their own numbers. */
void coverage_buckets(struct coverage *c, int64_t first_ns, int64_t step_ns, size_t n);
void coverage_release(struct coverage *c);

/* The bucket that a time of the range is in, and where that ends. */
size_t coverage_bucket(const struct coverage *c, int64_t time_ns, int64_t *ret_end);

/* Runs are of one hour, as the shortest roll-ups are. */
#define COVERAGE_HOUR_NS INT64_C(3600000000000)

/* The line of a series and type. */
enum err coverage_line(struct coverage *c, uint32_t series, uint32_t type, bool gauge,
		       uint32_t *ret) MUST_CHECK;
/* `q` pays for it; NULL = nobody. */
enum err coverage_add(struct coverage *c, struct question *q, uint32_t line,
		      const struct coverage_run *run) MUST_CHECK;
/* Profiles that wait for others of their hour become runs. */
enum err coverage_settle(const struct coverage *c, struct question *q,
			 struct coverage_line *line) MUST_CHECK;
/* From one profile of a run to the next; 0 where there is one. */
int64_t coverage_usual_gap(const struct coverage_run *run);
int coverage_by_start(const void *left, const void *right);
/* The run that a chunk is. */
struct coverage_run coverage_of_chunk(const struct chunk_head *head);

/* Until when the value of a gauge from before the range holds, as far as that is in it; the range's
 * beginning where there is none. After coverage_finish. */
int64_t coverage_carried_until(const struct coverage *c, const struct coverage_line *line);
/* After the last run: works out every line. */
enum err coverage_finish(struct coverage *c, struct question *q) MUST_CHECK;
/* How long a line was present in a bucket. */
int64_t coverage_presence(const struct coverage_line *line, size_t bucket);
/* Of some lines together. `ret_points`, per bucket, may be NULL. */
enum err coverage_sum(const struct coverage *c, const uint32_t *lines, size_t n,
		      int64_t *ret_points, int64_t *ret_total) MUST_CHECK;
/* Of all lines. */
enum err coverage_total(const struct coverage *c, int64_t *ret) MUST_CHECK;

/* What of several coverages is needed to say how long anything of a type was profiled. */
struct coverage_whole {
	struct str type;
	bool has_values;		 /* not only time in which there were none */
	VEC(struct coverage_time) times; /* in which any line was present */
	size_t apart;			 /* of these, so many were in order and apart last time */
	__int128 covered, present;
};
void coverage_whole_release(struct coverage_whole *w);
/* Some lines of a coverage that is finished, of the same range. */
enum err coverage_whole_add(struct coverage_whole *w, const struct coverage *c,
			    const uint32_t *lines, size_t n) MUST_CHECK;
/* As coverage_sum of all lines that were added. */
int64_t coverage_whole_total(struct coverage_whole *w);

/* How long a profile lasts as far as anybody cares: from nothing to a day. */
#define PROFILE_LONGEST_NS INT64_C(86400000000000)
int64_t profile_length(int64_t duration_ns);
/* Of an interval; of a moment itself. */
int64_t last_moment(int64_t time_ns, int64_t duration_ns);
