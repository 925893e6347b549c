/*
 * Intervals: at the end of each the tally becomes profiles, which are sent. Background thread only.
 */
#pragma once

#include "sdk/harvest.h"
#include "sdk/intake.h"
#include "sdk/outlet.h"

struct windows {
	const struct sdk_settings *settings;
	struct intake *intake;
	struct place_names names;
	struct outlet outlet;
	int64_t start, end; /* monotonic */
	int64_t wall;
};

/* Begins the first interval. */
void windows_init(struct windows *w, const struct sdk_settings *s, struct intake *in);
void windows_release(struct windows *w);
/* Ends the interval now, and begins the next. */
void windows_end(struct windows *w);
/* Whether the interval is over. */
bool windows_due(const struct windows *w, int64_t now);
