/* Runs the agent in this process, or as a child of the server process. */
#pragma once

#include <sys/types.h>

#include "agent/agent.h"
#include "cli/command.h"

/* Parses "cpu,offcpu"; prints errors. Returns an exit status. */
int capture_types_read(const struct invocation *in, const char *text, unsigned *ret);
/* Prints which types cannot be captured, and why. */
void capture_lacks_say(const struct common_options *common, const struct capture *c);
/* Runs until SIGINT or SIGTERM. Returns an exit status. */
int agent_serve(const struct common_options *common, const struct daemon_options *o);
/*
 * The same; on SIGHUP it sends the current window, calls `load` for new options and continues with
 * these. If `load` returns an exit status other than 0, nothing changes.
 */
int agent_serve_loading(struct daemon_options *o, int (*load)(void *, struct daemon_options *),
			void *context);

/* An agent in a child process. All zero is none. */
struct agent_child {
	pid_t pid;
	int tell; /* it reads the server's address here, and exits if this is closed */
};

/* Starts it; it waits for the server's address, and exits with this process. */
bool agent_spawn(const struct common_options *common, const struct daemon_options *o,
		 struct agent_child *ret);
void agent_tell(struct agent_child *child, struct str address);
/* Stops it and waits until it has sent its data. */
void agent_end(struct agent_child *child);
