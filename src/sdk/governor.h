/*
 * What switches sampling by itself: the schedule (so long, so often), the machine's load, and the
 * budget, which slows it down. Background thread only.
 */
#pragma once

#include "sdk/sdk_settings.h"

struct governor {
	int64_t start, next_look;
	u64 busy, total;	    /* of the machine, in ticks, at the last look */
	int64_t program_ns, own_ns; /* CPU time at the last look */
	bool looked;
};

void governor_init(struct governor *g);
/* A few times a second. */
void governor_turn(struct governor *g, const struct sdk_settings *s);

/* For tests. Ticks from /proc/stat; false when it is not that. */
bool governor_read_load(struct str text, u64 *ret_busy, u64 *ret_total);
/* The rate that follows when so much of the program's time was spent, in thousandths. */
u32 governor_next_rate(u32 rate_hz, u32 most_hz, u32 spent_permille, u32 budget_permille);
