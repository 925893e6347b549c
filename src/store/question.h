/*
 * Private to src/store: the common part of all queries. A question (query) walks the partitions of a
 * source, chooses series and types in each, and passes the matching chunks to a handler.
 */
#pragma once

#include "store/answer.h"
#include "store/row_cut.h"
#include "store/stand_in.h"

struct question;

struct question_handler {
	enum err (*begin)(struct question *q); /* a partition; or NULL */
	enum err (*chunk)(struct question *q, const struct chunk_view *v,
			  const struct chunk_column *column);
	enum err (*end)(struct question *q); /* of the partition; or NULL */
	/* A sum of the type `beside` in a roll-up, which other roll-ups stand beside; or NULL. */
	void (*beside)(struct question *q, const struct chunk_column *column);
};

struct question {
	const struct source *source;
	struct str tenant;
	const struct selection *selection;
	struct ask *ask;
	struct ask own_ask; /* used if the caller has none */
	const struct question_handler *handler;
	/* The longest roll-ups that may be used; 0 = none. */
	int64_t rollup_ns, gauge_rollup_ns;
	int64_t lookback_ns; /* gauge profiles that start up to this long before the range are
				passed, too */
	size_t memory;	     /* charged so far */
	struct arena arena;  /* valid as long as the question */
	bool each_type;	     /* all types, one column per call; the handler separates them */
	struct str type;     /* the requested type; empty until known */
	bool gauge;
	/* Of the current partition. */
	struct partition *partition;
	struct choice choice;
	struct stand_in stand_in;
	uint32_t stack_count;
	uint32_t beside; /* set when a partition begins; UINT32_MAX = none */
};

void question_init(struct question *q, const struct source *source, struct str tenant,
		   const struct selection *selection, struct ask *ask);
void question_release(struct question *q);
/* Passes every chunk that has a column of the requested type and a series that may match. */
enum err question_run(struct question *q, const struct question_handler *handler) MUST_CHECK;

/* Runs on one partition; the handler must be set. */
enum err question_partition(void *context, struct partition *p) MUST_CHECK;

/* Whether the requested type may be a gauge, judged by its name before any data is read. */
bool question_may_be_gauge(const struct question *q);

/* Charges `bytes` more: ERR_TOO_LARGE if that exceeds the query's limit. */
enum err question_take(struct question *q, size_t bytes) MUST_CHECK;
/* A zeroed array, charged to the query and owned by the caller. */
enum err question_array(struct question *q, size_t count, size_t size, void *ret) MUST_CHECK;
/* Updates stack_count to cover the chunk's stacks, since the dictionary may have grown. */
enum err question_stacks(struct question *q, const struct chunk_view *v) MUST_CHECK;
/* The id of the chunk's profile; the chunk must have one series. */
uint64_t question_profile(const struct question *q, const struct chunk_view *v);

/* Whether every row of the chunk is selected, apart from its time. */
bool question_takes_rows(const struct question *q, const struct chunk_view *v);
/* Whether the whole chunk is selected, so that its rows need not be read. */
bool question_takes_all(const struct question *q, const struct chunk_view *v,
			const struct chunk_column *column);
/* Whether values of the column are never split by time: gauges, and sums of roll-ups. */
bool question_is_whole(const struct question *q, const struct chunk_view *v,
		       const struct chunk_column *column);

/* Decoded rows of a chunk; only the groups that match. */
struct chunk_rows_read {
	struct arena arena;
	uint32_t *stacks;
	int64_t *values;       /* the selected part */
	int64_t *times;	       /* inside the profile's interval; 0 = unknown */
	const int64_t *stored; /* full values as stored */
	struct chunk_group *groups;
	uint32_t group_count;
	struct str links;
	struct row_cut cut;
	int64_t *before, *after; /* `after`: the part before `after_ns` */
	int64_t after_ns;
	bool whole;
};
enum err question_rows(struct question *q, const struct chunk_view *v,
		       const struct chunk_column *column, struct chunk_rows_read *ret) MUST_CHECK;
/* The same without values: */
enum err question_read(struct question *q, const struct chunk_view *v,
		       const struct chunk_column *column, struct chunk_rows_read *ret) MUST_CHECK;
/* Sets `values` to the part in [from, until). Cheapest when called in order of time. */
enum err question_rows_between(const struct question *q, struct chunk_rows_read *r, int64_t from_ns,
			       int64_t until_ns) MUST_CHECK;
void chunk_rows_release(struct chunk_rows_read *r);

/* ------------------------------------------------------------------ groups and series */

struct label_tuple {
	struct label_pair *labels;
	size_t n;
	uint64_t hash;
};

struct group_memo {
	uint64_t key; /* series << 32 | label set */
	uint32_t group;
};

/* The distinct values of some labels, numbered. */
struct grouping {
	const struct str *names;
	size_t name_count;
	VEC(struct label_tuple) groups;
	struct map index;
	/* Of the current partition. */
	struct map memo_index;
	VEC(struct group_memo) memo;
};
void grouping_release(struct grouping *g);
/* Drops the data of the current partition. */
void grouping_begin(struct grouping *g);
enum err grouping_find(struct grouping *g, struct question *q, uint32_t series, uint32_t label_set,
		       uint32_t *ret) MUST_CHECK;

/* Whether roll-ups have enough labels for the grouping: by service only. */
bool grouping_fits_rollups(const struct grouping *g);

/* Numbers series by content, across partitions, and counts the profiles of each. */
struct series_numbers {
	struct map index;
	VEC(uint64_t) hashes;
	VEC(uint64_t) profiles;
	VEC(uint32_t) local; /* by series of the current partition: number + 1, 0 = not yet */
};
void series_numbers_release(struct series_numbers *s);
/* Drops the data of the current partition. */
void series_numbers_begin(struct series_numbers *s);
enum err series_numbers_find(struct series_numbers *s, struct question *q, uint32_t series,
			     uint32_t *ret) MUST_CHECK;

/* A copy in an arena. */
struct str arena_str(struct arena *a, struct str s);
