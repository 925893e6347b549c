/*
 * Private to the embedded engine: a transaction on the file of a day. It adds and removes sealed
 * rows together with their tallies (ledger.h); changes to memory are collected and applied when it
 * ends.
 */
#pragma once

#include "store/embedded.h"

/* A series or labels written by a transaction, for the day's index of series. */
struct index_news {
	uint32_t service;
	/* A profile of a series, or (with delta.n > 0) new index rows: */
	uint32_t series;
	int64_t first_ns, last_ns;
	struct str delta; /* allocated */
};
/*
 * A transaction on a day's file. Changes to memory are collected and applied when it ends.
 * change_begin takes `write`, change_end releases it.
 */
struct change {
	struct day *day;
	struct db *writer;
	VEC(struct day_service *) touched;
	VEC(struct long_profile {
		struct day_service *service;
		struct reach reach;
	})
	reaches;
	struct inserted_list {
		VEC(struct inserted_chunk {
			struct day_service *service;
			struct fresh_chunk chunk;
			uint64_t seal;
			uint32_t series;
			int64_t first_ns; /* of the profile */
			int64_t last_ns;  /* its last nanosecond */
		})
		v;
	} inserted;
	VEC(struct index_news) news;
	struct chunk_scratch scratch;
	struct buf bytes;
	struct ledger before;
};
enum err change_begin(struct change *c, struct day *d, struct fault *fault) MUST_CHECK;
/* Commits if `error` is ERR_OK, else rolls back. Returns the first error. */
enum err change_end(struct change *c, enum err error, struct fault *fault) MUST_CHECK;
/* The same in two steps, for work that must happen in between. */
enum err change_commit(struct change *c, struct fault *fault) MUST_CHECK;
enum err change_finish(struct change *c, enum err error) MUST_CHECK;
/* Count an added row in the tally of a table of the file, or of a service. */
static inline void change_added(struct change *c, int tally, uint64_t seal)
{
	tally_add(&c->day->ledger.tallies[tally], seal);
}
enum err change_added_of(struct change *c, struct day_service *ds, int tally,
			 uint64_t seal) MUST_CHECK;
/* Runs the statement that selects the seals of rows, subtracts these from the tally, and runs the
 * one that deletes the rows. `ds` NULL: a tally of the file. */
enum err change_take(struct change *c, struct day_service *ds, int tally, unsigned which,
		     const int64_t *numbers, int n, struct fault *fault) MUST_CHECK;
#define change_take_with(c, ds, tally, which, fault, ...)                \
	change_take(c, ds, tally, which, (const int64_t[]){__VA_ARGS__}, \
		    sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t), fault)
/* Inserts the row of the service if there is none. */
enum err change_service(struct change *c, struct day_service *ds, struct fault *fault) MUST_CHECK;
/* Deletes the row of a service; all its other rows must have been deleted. */
enum err change_drop_service(struct change *c, struct day_service *ds,
			     struct fault *fault) MUST_CHECK;
enum err change_chunk(struct change *c, struct day_service *ds, const struct encoded_chunk *info,
		      struct str bytes, struct fault *fault) MUST_CHECK;
enum err change_touch(struct change *c, struct day_service *ds) MUST_CHECK;
/* Writes the deltas prepared by delta_prepare. */
enum err change_delta(struct change *c, struct day_service *ds, struct partition *p,
		      struct fault *fault) MUST_CHECK;
/* Encodes the dictionary entries that the file does not have yet; the partition must not be
 * locked. */
enum err delta_prepare(struct embedded *e, struct partition *p) MUST_CHECK;
/* Removes the deltas that a transaction wrote from the list and prepends them to `others`; requires
 * engine->lock. */
struct prepared_delta *delta_written(struct partition *p, struct prepared_delta *last,
				     struct prepared_delta *others);
void delta_free_chain(struct prepared_delta *d);

/* Re-encodes a chunk of one partition for another and appends it to `out`. Takes both locks. */
enum err chunk_move(struct partition *from, struct str bytes, struct partition *to, struct buf *out,
		    struct encoded_chunk *ret, struct fault *fault) MUST_CHECK;
/* Which columns to remove from which rows. */
struct removal {
	const bool *rows, *types;
};
/* Appends nothing if no row remains. */
enum err chunk_view_move(struct partition *from, const struct chunk_view *v, struct partition *to,
			 const struct removal *removal, struct buf *out, struct encoded_chunk *ret,
			 struct fault *fault) MUST_CHECK;

/* Fails if `n` more spans would exceed the limit of the day. */
enum err spans_fit(struct day *d, size_t n, struct fault *fault) MUST_CHECK;
struct undo_row; /* catalog.h */
/* Inserts a span; `ret` receives key and seal, so that a failed batch can delete the row again. */
enum err span_write(struct change *c, const struct trace_span *span, struct undo_row *ret,
		    struct fault *fault) MUST_CHECK;
