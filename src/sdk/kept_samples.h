/*
 * CPU samples that are held until their span ends. If spans are kept conditionally, samples are
 * taken at a high rate; those of spans that were slow, failed or CPU-intensive are all counted,
 * with the label `kept`; the others are thinned to the normal rate by counting one in N with N
 * times the weight. The samples of the last seconds are held in a ring.
 *
 * Background thread only.
 */
#pragma once

#include "sdk/sdk_settings.h"
#include "sdk/span_ends.h"
#include "sdk/tally.h"

#define WAITING_SAMPLES 16384u

/* Counts the last of `every` samples with the weight of all. */
struct thinner {
	u32 n;
	s64 count, value;
};

struct waiting_sample {
	s64 time; /* monotonic; 0 = free */
	s64 count, value;
	u32 thread, stack;
	u8 reason; /* why it is kept; 0 = not kept so far */
	struct span_context context;
};

struct kept_samples {
	const struct control_settings *settings; /* NULL = no sample is held */
	u32 every;
	struct tally *tally;
	struct waiting_sample *ring;
	u32 first, n;
	struct thinner outside, released;
	struct span_end ends[SPAN_ENDS_MAX];
	u32 end_count;
};

/* No sample is held if that is not configured, or if there is no memory. */
void kept_samples_init(struct kept_samples *k, const struct sdk_settings *s, struct tally *t);
void kept_samples_release(struct kept_samples *k);
/* Call before collecting samples: reads which spans have ended. */
void kept_samples_begin(struct kept_samples *k);
/* Adds a sample; `thread` 0 = in no span. */
void kept_samples_add(struct kept_samples *k, const struct waiting_sample *s);
/* Call after it: counts samples that need not be held any longer; with `all`, every sample. */
void kept_samples_end(struct kept_samples *k, int64_t now, bool all);
