/*
 * What all receivers do at the end: split a profile into the series its rows belong to, and hand
 * these to the sink. And at the beginning: decode bytes into a dictionary that suits the sink.
 */
#pragma once

#include "pipeline/row_plan.h"
#include "pipeline/type_ids.h"

/* Where a profile goes. */
struct address {
	const struct series_labels *labels;  /* not finished: rows may add to them */
	struct str types[PROFILE_MAX_TYPES]; /* empty: the column is not kept */
	int64_t time_ns, duration_ns;
	const struct jfr_contexts *contexts; /* see row_plan.h */
	bool services;
};

/* When it was measured. Without a time of its own it ended when it arrived: all of it lies in the
 * range that ends now. Without a duration it is a moment. */
void address_when(struct address *to, int64_t time_ns, int64_t duration_ns, int64_t arrived_ns);

/*
 * Rows that say nothing (all zero in what is kept) and rows with a negative value go; so does a
 * column of a type that an earlier one has. A profile in which no row is left was measured all the
 * same and is kept, so that its time counts; not if rows were negative, which is no measurement.
 * The profile is used up.
 */
enum err hand_over(struct receive *r, struct address *to, struct profile *p,
		   struct fault *fault) MUST_CHECK;

/* Whether it is the fault of what was sent, so that sending it again is no use. */
bool is_rejection(enum err e);
/* Counts a part that was not taken. */
void reject(struct receive *r, uint64_t n, enum err e, const struct fault *reason);

/* A decoding under way: profiles, their dictionary, and what the reader noticed. */
struct decoding {
	struct receive *r;
	struct profile_list list;
	struct reading out;
	struct dict own;
	bool owns;
};

/* Undoes compression of the bytes, if any: they are then those of `owner`. */
enum err decoding_unpack(const struct receive *r, struct str *bytes, struct buf *owner,
			 struct fault *fault) MUST_CHECK;
/* With a service known beforehand the sink's dictionary for it is used, else one of its own. */
enum err decoding_init(struct decoding *d, struct receive *r, const struct str *service,
		       struct fault *fault) MUST_CHECK;
void decoding_release(struct decoding *d);
/* A format of the table, compressed or not; NULL recognises it. Times come in nanoseconds and sizes
 * in bytes. */
enum err decoding_read(struct decoding *d, struct str bytes, const struct format *format,
		       const struct format **ret_format, struct fault *fault) MUST_CHECK;
/* A reader that is not in the table. */
enum err decoding_read_with(struct decoding *d, struct str bytes,
			    enum err (*read)(struct str bytes, struct reading *out),
			    struct fault *fault) MUST_CHECK;
