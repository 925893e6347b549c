/*
 * The budget controller, a pure function without clocks or files. From a measurement about once per
 * second it computes the sampling rate, the level of off-CPU sampling, and how fast workers may
 * read files (tables, symbols).
 *
 * It acts on averages. Unused budget is saved for BUDGET_SAVED_S seconds, so one expensive second
 * changes nothing; it reacts to twice the budget or more within BUDGET_REACTION_S seconds. A
 * reduction is undone if the average shows that it fits: soon if there is room to spare, after
 * BUDGET_BACKOFF_S seconds if there is just enough. Rate, off-CPU samples and memory recover
 * independently. The cost of more off-CPU samples cannot be predicted, so they are tried.
 *
 * Reading files is throttled separately and does not lower the rate: a new program is read once,
 * and a lower rate would not make that cheaper. Workers get READER_MOST of a CPU while there is
 * credit, which is unused budget of the last minute, and then the rest of the budget.
 */
#pragma once

#include "base/err.h"
#include "unwind/unwind.h"

#define BUDGET_SAVED_S	  3.5
#define BUDGET_REACTION_S 5
#define BUDGET_BACKOFF_S  30

struct budget_limits {
	double cpu_share;  /* of all CPUs; 0 = no limit */
	u64 memory_bytes;  /* of all agent processes, and BPF maps; 0 = no limit */
	double host_share; /* load of all CPUs above which sampling pauses; 0 = never */
};

struct budget_measure {
	double seconds;	     /* since the last measurement */
	double cpu_share;    /* share of all CPUs used by the agent since then */
	double reader_share; /* the part of cpu_share that readers of files used */
	u64 memory_bytes;    /* now */
	double host_share;   /* used by the whole machine */
	double wait_part;    /* fraction of cpu_share spent on off-CPU samples */
	double rate_part;    /* fraction that is proportional to the rate */
};

/* Levels of off-CPU samples of the busiest processes (wait_levels.h), and of all of them. */
#define BUDGET_WAITS_LEAST 8u
#define BUDGET_WAITS_OFF   (BUDGET_WAITS_LEAST + 1)

enum budget_reason { BUDGET_NONE, BUDGET_CPU, BUDGET_MEMORY, BUDGET_LOAD };

struct budget_state {
	u32 wanted_hz;	/* as configured */
	unsigned level; /* number of times it was halved */
	unsigned wait_level;
	bool paused;
	bool trim; /* drop caches */
	enum budget_reason reason;
	double debt;	       /* CPU time above the budget, in seconds of budget */
	double credit;	       /* for workers: unused budget, in seconds of budget */
	double mean;	       /* average cost of sampling, as a fraction of the budget */
	double rate_mean;      /* of it: the part proportional to the rate */
	double since;	       /* seconds since a level changed */
	double loaded;	       /* consecutive seconds with a reason to change `paused` */
	double bearable;       /* consecutive seconds below the limit while paused */
	double backoff;	       /* seconds until the level of off-CPU sampling is lowered on trial */
	double memory_since;   /* seconds since `memory_level` changed */
	double memory_pause;   /* seconds until the rate recovers from lack of memory */
	unsigned memory_level; /* part of `level` caused by memory */
	bool trimmed;	       /* caches were dropped and memory is still above the limit */
	double untrimmed;      /* consecutive seconds of that */
	bool probing;	       /* on trial with more off-CPU samples: no saved budget */
	unsigned probed_from;  /* the wait_level to return to */
};

struct budget_state budget_begin(u32 wanted_hz);
/* The state after this measurement. */
struct budget_state budget_step(struct budget_state s, const struct budget_limits *limits,
				const struct budget_measure *m);
/* At least 1. */
u32 budget_rate(const struct budget_state *s);
/* How fast workers may run while the agent's own threads use `own`, in CPUs; 0 = no limit. */
double budget_reader_pace(const struct budget_state *s, const struct budget_limits *limits,
			  long processors, double own);
/* Seconds until the next measurement. */
double budget_interval(const struct budget_state *s);
const char *budget_reason_text(enum budget_reason reason);
