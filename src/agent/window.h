/* Turns the samples of a window into profiles (model). */
#pragma once

#include "agent/capture.h"
#include "agent/names.h"

struct window {
	int64_t start_ns, duration_ns; /* calendar */
	int64_t start_monotonic_ns;
	uint64_t period_ns;	/* between CPU samples on one CPU */
	unsigned types;		/* enum capture_types */
	const char *host;	/* name of this machine */
	uint32_t wanted_hz;	/* the configured rate if this one is lower, else 0 */
	const char *limited_by; /* why it is lower */
	/* Levels of off-CPU sampling and the configured R; NULL = level 0. */
	const struct wait_level_set *wait_levels;
	uint64_t wait_mean_ns;
	uint64_t lost;	   /* records lost because the ring buffer was full */
	double cpu_share;  /* share of all CPUs used by the agent in it */
	double cpu_budget; /* its budget; 0 = no limit */
	bool times;	   /* CPU samples have timestamps */
	/* Start of uninterrupted measurement, in calendar time; 0 = off. */
	int64_t since_ns[WATCHED_MEASURES];
	/* Idle processes get profiles, too; NULL = only those with samples. */
	const struct processes *processes;
};

/*
 * The length of a window by calendar and monotonic clock: that of the calendar, unless it jumped
 * (suspend, or a change of the system time).
 */
int64_t window_length(int64_t wall_ns, int64_t monotonic_ns);
/*
 * The value of the n-th of `count` samples that are `sum` together: a multiple of a sixteenth of the
 * period (CLOCK_PARTS) if the sum is one. The values of all of them add up to the sum.
 */
int64_t window_sample_value(int64_t sum, int64_t count, int64_t n, uint64_t period_ns);
/* At the end of a window, updates what was measured. `broken`: nothing was, or the calendar jumped.
 */
void window_follow(struct window *w, bool broken);
/*
 * One profile of all processes, with a column per type, and process and thread as labels. For
 * files.
 */
enum err window_profile(struct collector *c, struct names *n, const struct window *w,
			struct profile *ret) MUST_CHECK;
/*
 * Adds a profile without samples of a measure, named as its values ("off_cpu"), to a resource: so that
 * the type exists although all of its samples were lost. `process` is NULL if it is not known.
 */
enum err window_add_empty(const struct window *w, const char *measure, struct process *process,
			  uint32_t resource, struct dict *d, struct profile_list *list) MUST_CHECK;
/* A profile per process and type, as in OTLP: for sending. */
enum err window_profiles(struct collector *c, struct names *n, const struct window *w,
			 struct dict *d, struct profile_list *ret) MUST_CHECK;
