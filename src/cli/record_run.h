/*
 * One recording: which processes, how long, and its result.
 */
#pragma once

#include "agent/agent.h"
#include "cli/command.h"

struct record_plan {
	struct capture_options capture;
	struct text_list pids, names; /* neither = the whole machine */
	char *const *program;	      /* the program to run and record; NULL = none */
	double seconds;		      /* 0 = until the program ends, or Ctrl-C */
};

struct recording {
	struct capture_stats stats;
	struct window window;
	int program_status; /* exit status of the program; 128 + signal */
	u64 samples, complete;
	u64 ends[UNWIND_END_COUNT];
};

/* Parses a pid; prints errors. Returns an exit status. */
int record_choose_pid(struct capture *c, const char *text);
/* Records into `ret`. Ctrl-C ends it early, which is not an error. Returns an exit status. */
int record_run(const struct record_plan *plan, const struct common_options *common,
	       struct profile *ret, struct recording *ret_recording);
