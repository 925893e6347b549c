/*
 * Limits mapping events per process, for processes that change page protections continuously, or
 * create and drop code. Events above the limit are ignored for a while; other processes are not
 * affected. The caller passes the time.
 */
#pragma once

#include <stdbool.h>

#include "unwind/unwind_format.h"

/* Events per process and period; a large program maps a few hundred files at startup. */
#define GATE_EVENTS_MAX 1000u
#define GATE_PERIOD_NS	((u64)10 * 1000000000)
#define GATE_PLACES	1024u
#define GATE_WAYS	4u

struct gate_place {
	u32 pid;
	u32 events;
	u64 begun; /* start of the period; 0 = unused */
};

struct event_gate {
	struct gate_place places[GATE_PLACES];
	u64 shut;      /* events ignored since the start */
	u32 offenders; /* periods in which a process was above the limit */
};

/* Whether an event of this process passes. `ret_first`: it is the first of the period that does
 * not. */
bool event_gate_pass(struct event_gate *g, u32 pid, u64 now, bool *ret_first);
/* Whether the gate is shut for a process. */
bool event_gate_shut(const struct event_gate *g, u32 pid, u64 now);
