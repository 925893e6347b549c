/*
 * CPU samples that wait for the end of their span. Where spans are kept conditionally samples are
 * taken at a high rate; those of a span that was slow, failed or used much of a processor are
 * counted one by one, with the label `kept`, and all others are thinned to the usual rate: of so
 * many in turn one stands for all. The last N seconds are held, in a ring.
 *
 * Background thread only.
 */
#pragma once

#include "sdk/sdk_settings.h"
#include "sdk/span_ends.h"
#include "sdk/tally.h"

#define WAITING_SAMPLES 16384u

/* Of `every` samples in turn the last one stands for all. */
struct thinner {
	u32 n;
	s64 count, value;
};

struct waiting_sample {
	s64 time; /* monotonic; 0 = free */
	s64 count, value;
	u32 thread, stack;
	u8 reason; /* why it is kept; 0 = it is not, so far */
	struct span_context context;
};

struct kept_samples {
	const struct control_settings *settings; /* NULL = nothing waits */
	u32 every;
	struct tally *tally;
	struct waiting_sample *ring;
	u32 first, n;
	struct thinner outside, released;
	struct span_end ends[SPAN_ENDS_MAX];
	u32 end_count;
};

/* Nothing waits where the settings do not ask for it, or there is no memory. */
void kept_samples_init(struct kept_samples *k, const struct sdk_settings *s, struct tally *t);
void kept_samples_release(struct kept_samples *k);
/* Before samples are taken over: which spans had ended by then. */
void kept_samples_begin(struct kept_samples *k);
/* A sample; `thread` 0 = in no span. */
void kept_samples_add(struct kept_samples *k, const struct waiting_sample *s);
/* After it: counts what need not wait any longer; with `all`, everything. */
void kept_samples_end(struct kept_samples *k, int64_t now, bool all);
