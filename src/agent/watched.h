/*
 * The time covered by the profiles of a process. In a window without samples a process has no
 * profile, but it was observed: its next profile begins where the last one ended, and after
 * WATCHED_REST_NS without samples an empty profile is made. So rates refer to the time the process
 * ran, not only to windows with samples.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"

#define WATCHED_MEASURES 8
/* Servers search profiles that extend into a range this far back without an index. */
#define WATCHED_REST_NS	 (60 * NS_PER_S)

/* All times are calendar times; 0 = never. */
struct watched {
	int64_t until_ns[WATCHED_MEASURES]; /* end of the last profile of each measure */
};

/*
 * The start of the profile for a window that begins at `start_ns`. `since_ns`: start of
 * uninterrupted measurement. Records that the time until `end_ns` is covered.
 */
int64_t watched_cover(struct watched *w, unsigned measure, int64_t since_ns, int64_t start_ns,
		      int64_t end_ns);
/* Whether it has had a profile of the measure, but none in the last WATCHED_REST_NS. */
bool watched_rests(const struct watched *w, unsigned measure, int64_t since_ns, int64_t end_ns);
