/*
 * Who causes so many events of its mappings that nobody should pay for all of them: a process that
 * changes the rights of its pages all the time, or makes and drops code. What it does beyond a
 * limit is not looked at for a while; others are not concerned. Without clocks of its own.
 */
#pragma once

#include <stdbool.h>

#include "unwind/unwind_format.h"

/* Events of one process in a period; a large program maps some hundred files when it begins. */
#define GATE_EVENTS_MAX 1000u
#define GATE_PERIOD_NS	((u64)10 * 1000000000)
#define GATE_PLACES	1024u
#define GATE_WAYS	4u

struct gate_place {
	u32 pid;
	u32 events;
	u64 begun; /* the period; 0 = nobody's place */
};

struct event_gate {
	struct gate_place places[GATE_PLACES];
	u64 shut;      /* since the start: events that did not pass */
	u32 offenders; /* periods in which somebody was above the limit */
};

/* Whether an event of this process is looked at. `ret_first`: it is the first one that is not, in
 * this period. */
bool event_gate_pass(struct event_gate *g, u32 pid, u64 now, bool *ret_first);
/* Whether the gate is shut for a process. */
bool event_gate_shut(const struct event_gate *g, u32 pid, u64 now);
