/* The agent in this process, or in a child of its own beside the server. */
#pragma once

#include <sys/types.h>

#include "agent/agent.h"
#include "cli/command.h"

/* Reads "cpu,offcpu"; says what is wrong with it. Returns an exit status. */
int capture_types_read(const struct invocation *in, const char *text, unsigned *ret);
/* Says which types cannot be captured, and why. */
void capture_lacks_say(const struct common_options *common, const struct capture *c);
/* Runs until SIGINT or SIGTERM. Returns an exit status. */
int agent_serve(const struct common_options *common, const struct daemon_options *o);
/*
 * The same, and on SIGHUP `load` is asked for other options, with which it goes on; the window at
 * hand is sent before. When it returns an exit status other than 0 all stays as it is.
 */
int agent_serve_loading(struct daemon_options *o, int (*load)(void *, struct daemon_options *),
			void *context);

/* The agent in a process of its own. All zero is none. */
struct agent_child {
	pid_t pid;
	int tell; /* where it waits for the server's address; closed, it ends */
};

/* Starts it; it does nothing before it is told where to send, and ends with this process. */
bool agent_spawn(const struct common_options *common, const struct daemon_options *o,
		 struct agent_child *ret);
void agent_tell(struct agent_child *child, struct str address);
/* Ends it and waits until it has sent what it has. */
void agent_end(struct agent_child *child);
