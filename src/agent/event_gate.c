#include "agent/event_gate.h"

#include "base/hash.h"

static bool is_over(const struct gate_place *p, u64 now)
{
	return !p->begun || now - p->begun >= GATE_PERIOD_NS;
}

static const struct gate_place *find(const struct event_gate *g, u32 pid)
{
	const struct gate_place *set =
		&g->places[hash_mix(pid, 7) % (GATE_PLACES / GATE_WAYS) * GATE_WAYS];

	for (u32 i = 0; i < GATE_WAYS; i++)
		if (set[i].pid == pid && set[i].begun)
			return &set[i];
	return NULL;
}

/* A place that is free, or of the one with the fewest events: who is shut out keeps its place. */
static struct gate_place *take_place(struct event_gate *g, u32 pid, u64 now)
{
	struct gate_place *set =
		&g->places[hash_mix(pid, 7) % (GATE_PLACES / GATE_WAYS) * GATE_WAYS];
	struct gate_place *best = set;

	for (u32 i = 0; i < GATE_WAYS; i++) {
		if (is_over(&set[i], now)) {
			best = &set[i];
			break;
		}
		if (set[i].events < best->events)
			best = &set[i];
	}
	*best = (struct gate_place){.pid = pid, .begun = now ? now : 1};
	return best;
}

bool event_gate_pass(struct event_gate *g, u32 pid, u64 now, bool *ret_first)
{
	struct gate_place *p = (struct gate_place *)find(g, pid);

	*ret_first = false;
	if (!p || is_over(p, now)) {
		if (p)
			*p = (struct gate_place){.pid = pid, .begun = now ? now : 1};
		else
			p = take_place(g, pid, now);
	}
	p->events++;
	if (p->events <= GATE_EVENTS_MAX)
		return true;
	*ret_first = p->events == GATE_EVENTS_MAX + 1;
	g->offenders += *ret_first;
	g->shut++;
	return false;
}

bool event_gate_shut(const struct event_gate *g, u32 pid, u64 now)
{
	const struct gate_place *p = find(g, pid);

	return p && !is_over(p, now) && p->events > GATE_EVENTS_MAX;
}
