/* Options of record and agent that select processes. */
#pragma once

#include "agent/agent.h"
#include "cli/command.h"

struct target_options {
	struct text_list pids, names, uids, cgroups, labels;
};

extern const struct option target_table[];

bool target_options_any(const struct target_options *o);
/* Adds each of them as a target. Returns an exit status. */
int target_options_read(const struct invocation *in, const struct target_options *o,
			struct targets *ret);
