/*
 * What the agent may cost, and what it does about it: a controller without clocks or files of its
 * own. It is given a measurement about once a second and answers with the rate to sample at, how
 * many off-CPU samples to keep, and how fast files may be read (tables, symbols).
 *
 * It judges averages. What was not used is saved for BUDGET_SAVED_S seconds, so one expensive
 * second changes nothing; twice the budget or more is answered within BUDGET_REACTION_S seconds.
 * What was given up comes back when the average says that it fits: soon when there is room to
 * spare, and after BUDGET_BACKOFF_S seconds when there is just enough. The rate, off-CPU samples
 * and memory come back on their own: none waits for another. What more off-CPU samples would cost
 * nobody knows, so they are tried.
 *
 * Reading files is paced and not part of what lowers the rate: a new program costs once, and a
 * lower rate would not make it cheaper. Readers get READER_MOST of a CPU while there is credit,
 * which is budget that was not used in the last minute, and what is left of the budget afterwards.
 */
#pragma once

#include "base/err.h"
#include "unwind/unwind.h"

#define BUDGET_SAVED_S	  3.5
#define BUDGET_REACTION_S 5
#define BUDGET_BACKOFF_S  30

struct budget_limits {
	double cpu_share;  /* of all CPUs; 0 = no limit */
	u64 memory_bytes;  /* of all processes of the agent, and in the kernel's maps; 0 = no limit
			    */
	double host_share; /* of all CPUs, by everybody: above it sampling pauses; 0 = never */
};

struct budget_measure {
	double seconds;	     /* since the last measurement */
	double cpu_share;    /* of all CPUs, that the agent used in them */
	double reader_share; /* the part of cpu_share that readers of files used */
	u64 memory_bytes;    /* now */
	double host_share;   /* that the whole machine used */
	double wait_part;    /* of cpu_share: the cost of off-CPU samples, a part of 1 */
	double rate_part;    /* the same of what grows with the rate */
};

/* Levels of off-CPU samples of the busiest processes (wait_levels.h), and of all of them. */
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
	double debt;	       /* CPU time used and not allowed for, in seconds of budget */
	double credit;	       /* for readers: budget not used, in seconds of it */
	double mean;	       /* of what sampling costs, as a part of the budget */
	double rate_mean;      /* of it: what grows with the rate */
	double since;	       /* seconds since a level changed */
	double loaded;	       /* seconds in a row that speak for a change of `paused` */
	double bearable;       /* seconds in a row, paused, below what pauses */
	double backoff;	       /* seconds until off-CPU samples that are left out are tried again */
	double memory_since;   /* seconds since `memory_level` changed */
	double memory_pause;   /* seconds until the rate comes back from lack of memory */
	unsigned memory_level; /* of `level`: because of memory */
	bool trimmed;	       /* memory was given back and it was not enough yet */
	double untrimmed;      /* seconds in a row that it was not */
	bool probing;	       /* more off-CPU samples are tried: nothing is saved for them */
	unsigned probed_from;  /* the wait_level to go back to */
};

struct budget_state budget_begin(u32 wanted_hz);
/* Pure: the state after this measurement. */
struct budget_state budget_step(struct budget_state s, const struct budget_limits *limits,
				const struct budget_measure *m);
/* At least 1. */
u32 budget_rate(const struct budget_state *s);
/* How fast readers may work while the agent's own threads use `own`: CPU time per time, 1 = a whole
 * CPU; 0 = as fast as they can. */
double budget_reader_pace(const struct budget_state *s, const struct budget_limits *limits,
			  long processors, double own);
/* When to measure again, in seconds. */
double budget_interval(const struct budget_state *s);
const char *budget_reason_text(enum budget_reason reason);
