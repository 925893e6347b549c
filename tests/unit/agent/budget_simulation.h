/*
 * A machine for the controller of budget.h: what a load would cost at the level that was decided,
 * measurement by measurement, for as many hours as a test likes. No clock is involved.
 */
#pragma once

#include "agent/budget.h"

/* What things cost at this moment, as shares of all CPUs. */
struct simulated_load {
	double fixed;	/* whatever is decided: windows, metrics */
	double per_hz;	/* a sample a second */
	double noting;	/* off-CPU samples, unless they are left out */
	double keeping; /* the same, at level 0; half with each level */
	double readers;
	u64 memory_bytes;
	double host;
};

struct simulation {
	struct budget_state state;
	struct budget_limits limits;
	double now, used; /* seconds; share x seconds */
	u64 changes;	  /* of any level */
	double off, low;  /* seconds without off-CPU samples, and below the wanted rate */
	double first_change;
	struct budget_measure last;
};

typedef void simulated_fn(const void *context, double now, struct simulated_load *ret);

static inline struct simulation simulation_begin(u32 hz, struct budget_limits limits)
{
	return (struct simulation){.state = budget_begin(hz), .limits = limits, .first_change = -1};
}

static inline struct budget_measure simulated_cost(const struct budget_state *s,
						   const struct simulated_load *l, double seconds)
{
	double waits = s->wait_level == BUDGET_WAITS_OFF
			       ? 0
			       : l->noting + l->keeping / (double)(1u << s->wait_level);
	struct budget_measure m = {.seconds = seconds,
				   .cpu_share = l->fixed + l->per_hz * budget_rate(s) + waits +
						l->readers,
				   .reader_share = l->readers,
				   .memory_bytes = l->memory_bytes,
				   .host_share = l->host};

	m.wait_part = m.cpu_share > 0 ? waits / m.cpu_share : 0;
	m.rate_part = m.cpu_share > 0 ? l->per_hz * budget_rate(s) / m.cpu_share : 0;
	return m;
}

/* One measurement; true when it changed a level. */
static inline bool simulate_step(struct simulation *s, simulated_fn *load, const void *context)
{
	struct budget_state before = s->state;
	double seconds = budget_interval(&before);
	struct simulated_load l = {0};
	bool changed;

	load(context, s->now, &l);
	s->last = simulated_cost(&before, &l, seconds);
	s->state = budget_step(before, &s->limits, &s->last);
	s->now += seconds;
	s->used += s->last.cpu_share * seconds;
	s->off += before.wait_level == BUDGET_WAITS_OFF ? seconds : 0;
	s->low += before.level ? seconds : 0;
	changed = before.level != s->state.level || before.wait_level != s->state.wait_level;
	s->changes += changed;
	if (changed && s->first_change < 0)
		s->first_change = s->now;
	return changed;
}

static inline void simulate(struct simulation *s, double seconds, simulated_fn *load,
			    const void *context)
{
	double end = s->now + seconds;

	while (s->now < end)
		simulate_step(s, load, context);
}

/* A load that does not change. */
static inline void simulated_constant(const void *context, double now, struct simulated_load *ret)
{
	(void)now;
	*ret = *(const struct simulated_load *)context;
}
