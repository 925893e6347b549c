/*
 * The time that the profiles of a process cover. A window without samples of a process makes no
 * profile of it, but the process was watched all the same: its next profile begins where its last
 * one ended, and a process that rests for WATCHED_REST_NS has a profile without samples. So a rate
 * is what a process uses of the time it runs, and not of the windows in which it was caught busy.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"

#define WATCHED_MEASURES 8
/* Servers look back so far for profiles that reach into a range without asking an index. */
#define WATCHED_REST_NS	 (60 * NS_PER_S)

/* All times are calendar times; 0 = never. */
struct watched {
	int64_t until_ns[WATCHED_MEASURES]; /* where the last profile of a measure ended */
};

/*
 * Where the profile of a window that begins at `start_ns` begins. `since_ns`: when the measure was
 * switched on, without a break since. Notes that it covers the time until `end_ns`.
 */
int64_t watched_cover(struct watched *w, unsigned measure, int64_t since_ns, int64_t start_ns,
		      int64_t end_ns);
/* Whether it had a profile of the measure once, and none of the last WATCHED_REST_NS. */
bool watched_rests(const struct watched *w, unsigned measure, int64_t since_ns, int64_t end_ns);
