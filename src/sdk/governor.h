/*
 * Controls sampling automatically: the schedule, the machine's load, and the budget, which lowers
 * the rate. Background thread only.
 */
#pragma once

#include "sdk/sdk_settings.h"

struct governor {
	int64_t start, next_look;
	u64 busy, total;	    /* ticks of the machine at the last check */
	int64_t program_ns, own_ns; /* CPU time at the last check */
	bool looked;
};

void governor_init(struct governor *g);
/* Call a few times per second. */
void governor_turn(struct governor *g, const struct sdk_settings *s);

/* For tests. Parses ticks of /proc/stat; false if invalid. */
bool governor_read_load(struct str text, u64 *ret_busy, u64 *ret_total);
/* The next rate, given the cost in thousandths of the program's CPU time. */
u32 governor_next_rate(u32 rate_hz, u32 most_hz, u32 spent_permille, u32 budget_permille);
