/*
 * Levels of off-CPU sampling (kernel_side.h). A level is requested by the budget or by a high rate
 * of context switches. It is set for the processes that cause most of the switches, so that the
 * others keep all of their samples.
 */
#pragma once

#include "agent/kernel_side.h"
#include "agent/storms.h"

/* The highest level of the budget: all processes have WAIT_LEVEL_MAX, also those with few
 * switches. */
#define WAIT_LEVEL_ALL (WAIT_LEVEL_MAX + 1)

struct wait_level_set {
	unsigned level, level_of_all;
	VEC(u32) chosen;
};

struct wait_levels {
	struct storms storms;
	struct storm_floor floor;
	unsigned wanted; /* requested by the budget */
	/* The published levels; the previous ones are kept for a window that is still being
	 * built. */
	struct wait_level_set sets[2];
	unsigned current;
	u64 switches, time; /* at the last measurement */
	double rate;	    /* switches per second between the last two measurements */
	u64 next, settled, say_next;
	bool counted; /* `storms` covers the time between two measurements */
};

void wait_levels_release(struct wait_levels *l);
/* Measures if that is due. True: the published levels must change. */
bool wait_levels_due(struct wait_levels *l, struct kernel_side *k, u64 now);
enum err wait_levels_apply(struct wait_levels *l, struct kernel_side *k, u64 now) MUST_CHECK;
/* The current levels, valid until wait_levels_apply was called twice. */
const struct wait_level_set *wait_levels_now(const struct wait_levels *l);
/* 0 = as configured. */
unsigned wait_level_of(const struct wait_level_set *s, u32 pid);
