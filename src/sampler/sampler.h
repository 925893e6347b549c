/*
 * A CPU profile of this very process, taken from inside: every thread has a timer on the clock of
 * its own CPU time, whose SIGPROF finds out where the thread is. A thread that sleeps costs
 * nothing. No privilege is needed.
 *
 * One sampler at a time in a process. All functions are for one thread, whichever; the signal
 * handler is the only other party, and it touches nothing but a ring of fixed size (sample_ring.h).
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
/* Timers for threads that are new, none for those that ended; counts what was sampled. */
enum err sampler_poll(struct sampler *s) MUST_CHECK;
/* What was counted since the beginning or sampler_clear(); the sampler's, until that is called. */
const struct profile *sampler_profile(const struct sampler *s);
/* Begins anew with an empty dictionary, so that what is held stays small. */
void sampler_clear(struct sampler *s);
struct sampler_counts sampler_counts(const struct sampler *s);
/* No signal comes after it. NULL is fine. */
void sampler_free(struct sampler *s);
