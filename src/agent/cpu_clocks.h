/*
 * A clock on each processor that calls a program of the kernel side.
 *
 * Clocks do not keep step with anything: each has a period of its own, a little off the one that
 * was asked for, and is given another one now and then. A program that repeats itself at the very
 * rate of the samples would otherwise be seen at the same place every time, or never. The kernel
 * side is told what a sample of each clock stands for: its period, and a little more, since a clock
 * that is set anew begins its period from the start.
 */
#pragma once

#include "agent/processors.h"
#include "base/vec.h"

struct cpu_clock {
	int cpu, fd;
	u64 time_before; /* see processor_event_lives */
};

struct cpu_clocks {
	VEC(struct cpu_clock) list;
	int program; /* its descriptor; -1 = none, for tests */
	int periods; /* the map of struct clock_period; -1 = none */
	bool on;
	u64 period_ns; /* as asked for */
	u64 random;
	u64 next_draw, next_look;
	unsigned online; /* CPUs, at the last look */
};

/* A period near this one: at a rate up to a quarter off, to either side. */
u64 cpu_clock_draw(u64 period_ns, u64 *random);
/* The part of the online CPUs that the kernel refused a clock, 0 to 1. */
double cpu_clocks_missing(const struct cpu_clocks *c);
/* Starts a clock on every processor that is online; program and periods are set before. */
enum err cpu_clocks_start(struct cpu_clocks *c, u64 period_ns, struct fault *fault) MUST_CHECK;
void cpu_clocks_stop(struct cpu_clocks *c);
void cpu_clocks_release(struct cpu_clocks *c);
enum err cpu_clocks_set_period(struct cpu_clocks *c, u64 period_ns) MUST_CHECK;
/* Stops them for a while, or lets them go on. */
enum err cpu_clocks_switch(struct cpu_clocks *c, bool on, struct fault *fault) MUST_CHECK;
/* Now and then: other periods, and clocks for processors that came. */
enum err cpu_clocks_turn(struct cpu_clocks *c, u64 now) MUST_CHECK;
/* The same, given what is online. */
enum err cpu_clocks_follow(struct cpu_clocks *c, const struct processors *online,
			   struct fault *fault) MUST_CHECK;
