/*
 * A CPU profile of this process: every thread has a timer on its CPU-time clock, whose SIGPROF
 * records the stack. Sleeping threads cost nothing. No privilege is needed.
 *
 * One sampler per process. Not thread safe; the signal handler accesses only a ring of fixed size
 * (sample_ring.h).
 *
 *	TRY(sampler_new(97, &s, fault));
 *	every second: TRY(sampler_poll(s));
 *	every ten: sampler_profile(s) … sampler_clear(s);
 */
#pragma once

#include "base/err.h"
#include "model/model.h"

struct sampler;

struct sampler_counts {
	uint64_t samples, lost; /* lost: the ring was full */
};

enum err sampler_new(unsigned per_second, struct sampler **ret, struct fault *fault) MUST_CHECK;
/* Creates timers for new threads, deletes those of ended ones; counts the samples. */
enum err sampler_poll(struct sampler *s) MUST_CHECK;
/* The samples since the start or sampler_clear(); owned by the sampler, valid until that is
 * called. */
const struct profile *sampler_profile(const struct sampler *s);
/* Starts again with an empty dictionary, to limit memory. */
void sampler_clear(struct sampler *s);
struct sampler_counts sampler_counts(const struct sampler *s);
/* No signal arrives after it. NULL is allowed. */
void sampler_free(struct sampler *s);
