/*
 * The sampling timers: a perf event on each CPU that runs a BPF program.
 *
 * Each timer has its own period, slightly different from the configured one, and changed from time
 * to time. Otherwise a program that repeats itself at exactly the sampling rate would be sampled
 * always at the same place, or never. The BPF program gets the weight of a sample of each timer:
 * its period, plus a correction, because a timer with a new period starts it from zero.
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
	int program; /* descriptor of the BPF program; -1 = none, for tests */
	int periods; /* the map of struct clock_period; -1 = none */
	bool on;
	u64 period_ns; /* as configured */
	u64 random;
	u64 next_draw, next_look;
	unsigned online; /* CPUs, at the last look */
};

/* Draws a random period whose rate differs by at most a quarter. */
u64 cpu_clock_draw(u64 period_ns, u64 *random);
/* The share of the online CPUs for which the kernel refused a timer, 0 to 1. */
double cpu_clocks_missing(const struct cpu_clocks *c);
/* Starts a timer on every online CPU; set `program` and `periods` before. */
enum err cpu_clocks_start(struct cpu_clocks *c, u64 period_ns, struct fault *fault) MUST_CHECK;
void cpu_clocks_stop(struct cpu_clocks *c);
void cpu_clocks_release(struct cpu_clocks *c);
enum err cpu_clocks_set_period(struct cpu_clocks *c, u64 period_ns) MUST_CHECK;
/* Pauses or resumes the timers. */
enum err cpu_clocks_switch(struct cpu_clocks *c, bool on, struct fault *fault) MUST_CHECK;
/* Call regularly: changes periods, and adds timers for new CPUs. */
enum err cpu_clocks_turn(struct cpu_clocks *c, u64 now) MUST_CHECK;
/* The same for a given set of online CPUs. */
enum err cpu_clocks_follow(struct cpu_clocks *c, const struct processors *online,
			   struct fault *fault) MUST_CHECK;
