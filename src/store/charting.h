/*
 * The state of a query for values over time (answer_series.c): charting.c collects values from the
 * partitions, charting_finish.c turns them into series, charting_cover.c finds the profiled time of
 * each series.
 */
#pragma once

#include "store/answer_services.h"
#include "store/call_site.h"
#include "store/coverage.h"
#include "store/gauge_line.h"
#include "store/group_lines.h"
#include "store/question.h"

/* A sum without a value. */
#define NOTHING INT64_MIN

/* The values of one group and type; for means, also of one series. */
struct curve {
	uint32_t group, series, type;
	int64_t *sums;	/* per point, or NOTHING; NULL for a gauge */
	uint32_t level; /* for a gauge: index in `levels` */
};

/* A group, and the line of the coverage of one of its series. */
struct member {
	uint32_t group, line;
};

/* A type with values; exactly one without each_type. */
struct chart_type {
	struct str id;
	bool means;		/* over the profiles of a series, before series are summed */
	bool gauge;		/* a value is valid until the next of its series */
	VEC(uint32_t *) counts; /* profiles per series and point */
};

struct charting {
	struct question q; /* must be first: handlers cast it */
	const struct series_question *question;
	bool brief; /* one point for all of the range: totals are requested */
	int64_t first_ns, step_ns;
	size_t n; /* points */
	struct grouping grouping;
	struct series_numbers numbers;
	VEC(struct chart_type) types;
	VEC(struct curve) curves;
	struct map curve_index;
	struct coverage coverage;
	struct gauge_lines levels;
	VEC(struct member) members;
	struct map member_index;
	struct group_lines lines;
	struct call_site site;
	struct whole_list *wholes; /* or NULL: profiled time over several answers */
	/* Index in `types` for each type of the current partition. */
	VEC(uint32_t) local;
};

void charting_release(struct charting *c);
extern const struct question_handler charting_handler;

/* A series of the answer under construction. */
struct made_series {
	struct series_points points;
	double total;
	/* For a gauge: sums of value × time, over the range and per point. */
	__int128 held, *points_held;
	uint32_t group, type;
	uint32_t *lines; /* of the coverage, in order */
	size_t line_count;
};

struct made_list {
	struct made_series *v;
	size_t n;
};

/* Sorts the values into series, the largest first; beyond the limit, one series `other` per type. */
enum err charting_finish(struct charting *c, struct series_answer *ret) MUST_CHECK;

/* Assigns to each series of the answer the lines of the coverage that belong to its group; `of`:
 * by group and type. */
enum err charting_give_lines(struct charting *c, struct made_series **of) MUST_CHECK;
/* Assigns to `other` the lines of the groups beyond the limit. */
enum err charting_unite_lines(struct charting *c, const struct made_list *list, size_t limit,
			      struct made_series *other) MUST_CHECK;
/* Computes the profiled time of one series, in total and per point. */
enum err charting_measure(struct charting *c, struct series_answer *ret,
			  struct made_series *made) MUST_CHECK;
/* Computes the profiled time of the selection, independent of groups. */
enum err charting_measure_all(struct charting *c) MUST_CHECK;
/* Adds the profiled time to what other answers found for other services. There is one group. */
enum err charting_add_to_wholes(struct charting *c, const struct made_list *list) MUST_CHECK;
