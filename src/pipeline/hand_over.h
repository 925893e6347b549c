/*
 * Common steps of all receivers: decoding into a dictionary of the sink; splitting a profile into
 * series, and passing these to the sink.
 */
#pragma once

#include "pipeline/row_plan.h"
#include "pipeline/type_ids.h"

/* The destination of a profile. */
struct address {
	const struct series_labels *labels;  /* incomplete: rows may add labels */
	struct str types[PROFILE_MAX_TYPES]; /* empty: the column is dropped */
	int64_t time_ns, duration_ns;
	const struct jfr_contexts *contexts; /* see row_plan.h */
	bool services;
};

/* When it was measured. Without a time it ended on arrival, so that it lies in the range that ends
 * now. Without a duration it has length 0. */
void address_when(struct address *to, int64_t time_ns, int64_t duration_ns, int64_t arrived_ns);

/*
 * Drops rows that are zero in all kept columns or negative in one, and columns whose type an
 * earlier one has. A profile without remaining rows is kept, because it was measured and its time
 * counts, unless it had negative rows. Consumes the profile.
 */
enum err hand_over(struct receive *r, struct address *to, struct profile *p,
		   struct fault *fault) MUST_CHECK;

/* Whether the error is in the sent data, so that a retry is useless. */
bool is_rejection(enum err e);
/* Counts a rejected part. */
void reject(struct receive *r, uint64_t n, enum err e, const struct fault *reason);

/* State of decoding: profiles, their dictionary, and notes. */
struct decoding {
	struct receive *r;
	struct profile_list list;
	struct reading out;
	struct dict own;
	bool owns;
};

/* Decompresses the bytes, if compressed; `owner` then owns them. */
enum err decoding_unpack(const struct receive *r, struct str *bytes, struct buf *owner,
			 struct fault *fault) MUST_CHECK;
/* If the service is known in advance, uses the sink's dictionary for it, else a new one. */
enum err decoding_init(struct decoding *d, struct receive *r, const struct str *service,
		       struct fault *fault) MUST_CHECK;
void decoding_release(struct decoding *d);
/* A format of the table, compressed or not; NULL = detect it. Converts times to nanoseconds and
 * sizes to bytes. */
enum err decoding_read(struct decoding *d, struct str bytes, const struct format *format,
		       const struct format **ret_format, struct fault *fault) MUST_CHECK;
/* A reader outside of the table. */
enum err decoding_read_with(struct decoding *d, struct str bytes,
			    enum err (*read)(struct str bytes, struct reading *out),
			    struct fault *fault) MUST_CHECK;
