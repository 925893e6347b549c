/*
 * Private to the embedded engine: long profiles, those longer than USUAL_REACH_NS. A range also
 * contains parts of profiles that start before it; this finds the windows in which they start.
 */
#pragma once

#include "store/embedded.h"

struct change;

/* Reads the long profiles from the file; *ret_good is false if rows are missing or altered. */
enum err reach_load(struct day *d, struct db *reader, bool *ret_good,
		    struct fault *fault) MUST_CHECK;
/* Records a profile that is being written, if it is long; visible after the transaction. */
enum err reach_note(struct change *c, struct day_service *ds, int64_t time_ns, int64_t duration_ns,
		    struct fault *fault) MUST_CHECK;
/* Makes the recorded ones visible; after the transaction, requires engine->lock, cannot fail. */
void reach_publish(struct change *c);
/* Finds long profiles in files older than the table of long profiles; requires `upkeep`. */
enum err reach_measure(struct day *d, struct fault *fault) MUST_CHECK;
/* The windows that a scan must read besides all from `ret_low` on, sorted. */
struct window_list {
	VEC(int64_t) v;
};
enum err reach_windows(struct day_service *ds, int64_t since_ns, int64_t from_ns, int64_t *ret_low,
		       struct window_list *ret) MUST_CHECK;
/* Whether a profile of the service may extend from its day, which ended before the range, into
 * it. */
bool reach_after_day(struct day_service *ds, int64_t since_ns, int64_t from_ns);
/* The longest known long profile that starts in [from, until). */
int64_t reach_longest(struct day_service *ds, int64_t from_ns, int64_t until_ns);
