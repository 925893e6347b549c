/*
 * What the agent may cost, and what it does about it: a controller without clocks or files of its
 * own. It is given a measurement every few seconds and answers with the rate to sample at.
 *
 * The rate goes down by halves and comes back by doubling, and comes back only when what was
 * measured says that the doubled rate would fit too, several times in a row: so it does not swing.
 *
 * Waits are no matter of the rate: when they are most of the cost, fewer of them are kept (R
 * doubles), and when that is not enough, because threads switch so often that noting it alone is
 * too much, they are left out for a while.
 *
 * The processor budget is an average. What was not used is saved for a while, and there is an
 * advance at the start, when the programs that run already are read for the first time: a new
 * program costs once, and a lower rate would not make it cheaper.
 */
#pragma once

#include "base/err.h"
#include "unwind/unwind.h"

struct budget_limits {
	double cpu_share;  /* of all processors; 0 = no limit */
	u64 memory_bytes;  /* resident and in the kernel's maps; 0 = no limit */
	double host_share; /* of all processors, by everybody: above it sampling pauses; 0 = never
			    */
};

struct budget_measure {
	double cpu_share;  /* that the agent used since the last measurement */
	u64 memory_bytes;  /* now */
	double host_share; /* that the whole machine used */
	double wait_part;  /* of cpu_share: what waits cost */
};

/* Levels of waits: R doubled so often, and left out. */
#define BUDGET_WAITS_LEAST 8u
#define BUDGET_WAITS_OFF   (BUDGET_WAITS_LEAST + 1)

enum budget_reason { BUDGET_NONE, BUDGET_CPU, BUDGET_MEMORY, BUDGET_LOAD };

struct budget_state {
	u32 wanted_hz;	/* what was asked for */
	unsigned level; /* halvings of it */
	unsigned wait_level;
	bool paused;
	bool trim; /* give back memory that can be made again */
	enum budget_reason reason;
	double debt;	 /* processor time used and not allowed for, in budgets of a measurement */
	unsigned calm;	 /* measurements in a row with room for more */
	unsigned loaded; /* in a row that speak for a change of `paused` */
	bool trimmed;	 /* memory was given back and it was not enough yet */
};

struct budget_state budget_begin(u32 wanted_hz);
/* Pure: the state after this measurement. */
struct budget_state budget_step(struct budget_state s, const struct budget_limits *limits,
				const struct budget_measure *m);
/* At least 1. */
u32 budget_rate(const struct budget_state *s);
const char *budget_reason_text(enum budget_reason reason);
