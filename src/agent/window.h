/* The samples of a window as profiles of the model. */
#pragma once

#include "agent/capture.h"
#include "agent/names.h"

struct window {
	int64_t start_ns, duration_ns; /* calendar */
	int64_t start_monotonic_ns;
	uint64_t period_ns;	/* between CPU samples of a processor */
	unsigned types;		/* enum capture_types */
	const char *host;	/* name of this machine */
	uint32_t wanted_hz;	/* the rate asked for when this one is lower, else 0 */
	const char *limited_by; /* why it is lower */
	/* How closely off-CPU time is followed, and R as it was asked for; NULL = as asked for. */
	const struct wait_level_set *wait_levels;
	uint64_t wait_mean_ns;
	uint64_t lost;	   /* records that the kernel side had no room for */
	double cpu_share;  /* of all CPUs, that the agent took in it */
	double cpu_budget; /* the same, allowed; 0 = no limit */
	bool times;	   /* CPU samples carry their times */
	/* Since when each measure is taken without a break, by the calendar; 0 = it is not. */
	int64_t since_ns[WATCHED_MEASURES];
	/* Those that rest are profiled too; NULL = only who has samples. */
	const struct processes *processes;
};

/*
 * How long a window was, by the calendar and by the clock that only goes forward: the calendar's
 * answer, unless it jumped meanwhile (the machine was suspended, somebody set the time).
 */
int64_t window_length(int64_t wall_ns, int64_t monotonic_ns);
/* At the end of a window: what was measured in it. `broken`: nothing was, or the calendar jumped.
 */
void window_follow(struct window *w, bool broken);
/*
 * All processes in one profile: a column per type of measurement, the process and the thread as
 * labels. For files.
 */
enum err window_profile(struct collector *c, struct names *n, const struct window *w,
			struct profile *ret) MUST_CHECK;
/* A profile per process and kind of measurement, as OpenTelemetry wants them: for sending. */
enum err window_profiles(struct collector *c, struct names *n, const struct window *w,
			 struct dict *d, struct profile_list *ret) MUST_CHECK;
