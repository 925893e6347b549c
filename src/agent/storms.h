/*
 * Which processes switch threads most often, and how much less closely their off-CPU time should be
 * followed for it. Without clocks and files of its own.
 */
#pragma once

#include "base/map.h"
#include "base/vec.h"
#include "bpf/records.h"

struct storm {
	u32 pid;
	u64 switches; /* since the last count */
};

/* Of a place: whose it was, and how often that thread had switched. */
struct storm_place {
	u32 tid, switches;
};

struct storms {
	VEC(struct storm) list; /* the one that switches most comes first */
	u64 all;		/* sum of the list */
	struct map by_pid;
	VEC(struct storm_place) before;
};

void storms_release(struct storms *s);
/* Counts anew; the first time everything since the threads began. */
enum err storms_count(struct storms *s, const struct wait_start *places, u32 n) MUST_CHECK;
/* So many of the first of the list make up this part of all switches. */
size_t storms_share(const struct storms *s, double part);

/* Above so many switches a second a level is set whatever it costs. */
#define STORM_RATE 200000.0
/* Measurements (two a second) in a row below half of what led to a level, before it goes down by
 * one. */
#define STORM_CALM 8

struct storm_floor {
	unsigned level;
	unsigned calm;
};

/* The least level at this rate of switches, with patience before it goes down. */
struct storm_floor storm_floor_step(struct storm_floor f, double switches_per_second);
