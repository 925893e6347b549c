/*
 * How closely off-CPU time is followed: which processes have a level (kernel_side.h), and when that
 * changes. The budget asks for a level, and so does a rate of switches that is too high; it goes to
 * the processes that make up most of the switches, so that the others keep all of their samples.
 */
#pragma once

#include "agent/kernel_side.h"
#include "agent/storms.h"

/* The budget's highest: the processes that do not switch often have WAIT_LEVEL_MAX as well. */
#define WAIT_LEVEL_ALL (WAIT_LEVEL_MAX + 1)

struct wait_level_set {
	unsigned level, level_of_all;
	VEC(u32) chosen;
};

struct wait_levels {
	struct storms storms;
	struct storm_floor floor;
	unsigned wanted; /* by the budget */
	/* What the kernel side was told; the one before is kept for a window that is still made. */
	struct wait_level_set sets[2];
	unsigned current;
	u64 switches, time; /* at the last look */
	double rate;	    /* switches a second between the last two */
	u64 next, settled, say_next;
	bool counted; /* `storms` is about the time between two looks */
};

void wait_levels_release(struct wait_levels *l);
/* Looks when it is time. True: what the kernel side was told is not what it should be. */
bool wait_levels_due(struct wait_levels *l, struct kernel_side *k, u64 now);
enum err wait_levels_apply(struct wait_levels *l, struct kernel_side *k) MUST_CHECK;
/* As it is now; it stays valid until wait_levels_apply was called twice. */
const struct wait_level_set *wait_levels_now(const struct wait_levels *l);
/* 0 = followed as closely as was asked for. */
unsigned wait_level_of(const struct wait_level_set *s, u32 pid);
