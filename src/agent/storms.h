/*
 * Finds the processes with most context switches, and the level of off-CPU sampling for them. A
 * pure function without clocks or files.
 */
#pragma once

#include "base/map.h"
#include "base/vec.h"
#include "bpf/records.h"

struct storm {
	u32 pid;
	u64 switches; /* since the last count */
};

/* Of a slot: its thread, and the number of switches of that thread. */
struct storm_place {
	u32 tid, switches;
};

struct storms {
	VEC(struct storm) list; /* sorted, most switches first */
	u64 all;		/* sum of the list */
	struct map by_pid;
	VEC(struct storm_place) before;
};

void storms_release(struct storms *s);
/* Counts switches since the last call; the first call counts those since the threads started. */
enum err storms_count(struct storms *s, const struct wait_start *places, u32 n) MUST_CHECK;
/* The number of processes at the head of the list that cause this share of all switches. */
size_t storms_share(const struct storms *s, double part);

/* Above this many switches per second a level is set independent of the cost. */
#define STORM_RATE 200000.0
/* Consecutive measurements (two per second) below half of the rate that led to a level, before it
 * is lowered by one. */
#define STORM_CALM 8

struct storm_floor {
	unsigned level;
	unsigned calm;
};

/* The minimum level at this rate of switches; it is lowered with a delay. */
struct storm_floor storm_floor_step(struct storm_floor f, double switches_per_second);
