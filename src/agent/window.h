/* The samples of a window as profiles of the model. */
#pragma once

#include "agent/capture.h"
#include "agent/names.h"

struct window {
	int64_t start_ns, duration_ns; /* calendar */
	uint64_t period_ns;	       /* between CPU samples of a processor */
	unsigned types;		       /* enum capture_types */
	const char *host;	       /* name of this machine */
	uint32_t wanted_hz;	       /* the rate asked for when this one is lower, else 0 */
	const char *limited_by;	       /* why it is lower */
	bool times;		       /* samples of processor time say when they were taken */
};

/*
 * All processes in one profile: a column per type of measurement, the process and the thread as
 * labels. For files.
 */
enum err window_profile(struct collector *c, struct names *n, const struct window *w,
			struct profile *ret) MUST_CHECK;
/* A profile per process and kind of measurement, as OpenTelemetry wants them: for sending. */
enum err window_profiles(struct collector *c, struct names *n, const struct window *w,
			 struct dict *d, struct profile_list *ret) MUST_CHECK;
