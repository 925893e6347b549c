/* The agent in this process, or in a child of its own beside the server. */
#pragma once

#include <sys/types.h>

#include "agent/agent.h"
#include "cli/command.h"

/* Reads "cpu,offcpu"; says what is wrong with it. Returns an exit status. */
int capture_types_read(const struct invocation *in, const char *text, unsigned *ret);
/* Runs until SIGINT or SIGTERM. Returns an exit status. */
int agent_serve(const struct common_options *common, const struct daemon_options *o);
/* The same in a new process, which ends with this one. -1 when it cannot be started. */
pid_t agent_spawn(const struct common_options *common, const struct daemon_options *o);
