/*
 * Private to src/store: what the answers have in common. A question walks over the partitions of a
 * source, chooses series and types in each, and shows the chunks that match to whoever asks.
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
};

struct question {
	const struct source *source;
	struct str tenant;
	const struct selection *selection;
	struct ask *ask;
	struct ask own_ask; /* when the caller has none */
	const struct question_handler *handler;
	/* How long roll-ups may be that answer; 0 = none. */
	int64_t rollup_ns, gauge_rollup_ns;
	int64_t lookback_ns; /* gauges that start so much before the range are shown, too */
	size_t memory;	     /* taken so far */
	struct arena arena;  /* lives as long as the question */
	bool each_type;	 /* types are told apart by whoever asks; chunks come column by column */
	struct str type; /* the one type that is asked for; empty until it is known */
	bool gauge;
	/* Of the partition at hand. */
	struct partition *partition;
	struct choice choice;
	struct stand_in stand_in;
	uint32_t stack_count;
};

void question_init(struct question *q, const struct source *source, struct str tenant,
		   const struct selection *selection, struct ask *ask);
void question_release(struct question *q);
/* Shows every chunk that has a column of the type asked for and a series that may match. */
enum err question_run(struct question *q, const struct question_handler *handler) MUST_CHECK;

/* One partition, of a question whose handler is set. */
enum err question_partition(void *context, struct partition *p) MUST_CHECK;

/* Whether the type that is asked for is a gauge, as far as that is known before. */
bool question_may_be_gauge(const struct question *q);

/* Says that `bytes` more are needed: ERR_TOO_LARGE when that is more than the question may take. */
enum err question_take(struct question *q, size_t bytes) MUST_CHECK;
/* A zeroed array of the question's budget that belongs to the caller. */
enum err question_array(struct question *q, size_t count, size_t size, void *ret) MUST_CHECK;
/* Makes stack_count cover the chunk's stacks: the dictionary may have grown meanwhile. */
enum err question_stacks(struct question *q, const struct chunk_view *v) MUST_CHECK;
/* The id of the chunk's profile, which is of one series. */
uint64_t question_profile(const struct question *q, const struct chunk_view *v);

/* Whether every row of the chunk is selected, whenever it was. */
bool question_takes_rows(const struct question *q, const struct chunk_view *v);
/* Whether all of the chunk is selected, so that nobody has to look at rows. */
bool question_takes_all(const struct question *q, const struct chunk_view *v,
			const struct chunk_column *column);
/* Whether the column is of a type that is not cut: a gauge, or a sum of a roll-up. */
bool question_is_whole(const struct question *q, const struct chunk_view *v,
		       const struct chunk_column *column);

/* Rows of a chunk, decoded; only the groups that match. */
struct chunk_rows_read {
	struct arena arena;
	uint32_t *stacks;
	int64_t *values;       /* what of it is selected */
	int64_t *times;	       /* inside the profile's interval; 0 = not known */
	const int64_t *stored; /* values as a whole */
	struct chunk_group *groups;
	uint32_t group_count;
	struct str links;
	struct row_cut cut;
	int64_t *before, *after; /* `after`: what lies before `after_ns` */
	int64_t after_ns;
	bool whole;
};
enum err question_rows(struct question *q, const struct chunk_view *v,
		       const struct chunk_column *column, struct chunk_rows_read *ret) MUST_CHECK;
/* The same without values: */
enum err question_read(struct question *q, const struct chunk_view *v,
		       const struct chunk_column *column, struct chunk_rows_read *ret) MUST_CHECK;
/* Values become what lies in this part of the range. Cheapest from one part to the next. */
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
	/* Of the partition at hand. */
	struct map memo_index;
	VEC(struct group_memo) memo;
};
void grouping_release(struct grouping *g);
/* Forgets what belongs to a partition. */
void grouping_begin(struct grouping *g);
enum err grouping_find(struct grouping *g, struct question *q, uint32_t series, uint32_t label_set,
		       uint32_t *ret) MUST_CHECK;

/* Whether the groups are of services alone, which roll-ups can tell apart. */
bool grouping_fits_rollups(const struct grouping *g);

/* Series by content, across partitions, and how many profiles of each were seen. */
struct series_numbers {
	struct map index;
	VEC(uint64_t) hashes;
	VEC(uint64_t) profiles;
	VEC(uint32_t) local; /* by series of the partition at hand: number + 1, 0 = not yet */
};
void series_numbers_release(struct series_numbers *s);
/* Forgets what belongs to a partition. */
void series_numbers_begin(struct series_numbers *s);
enum err series_numbers_find(struct series_numbers *s, struct question *q, uint32_t series,
			     uint32_t *ret) MUST_CHECK;

/* A copy in an arena. */
struct str arena_str(struct arena *a, struct str s);
