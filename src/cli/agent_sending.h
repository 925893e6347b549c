/* The options of an agent that sends: where to, what is kept meanwhile, what must not leave. */
#pragma once

#include "agent/agent.h"
#include "cli/command.h"

#define AGENT_QUEUE "/var/lib/vestal/agent"

/* NULL and 0 are not given. */
struct sending_options {
	const char *server, *token, *ca_file, *certificate, *key;
	bool insecure;
	const char *queue;
	size_t queue_size;
	const char *redact;
	bool no_redact, strip, mask;
};

extern const struct option sending_table[];
extern const struct option queue_table[];
extern const struct option privacy_table[];

/* Puts what was given over what the daemon's options say. Returns an exit status. */
int sending_apply(const struct invocation *in, const struct sending_options *o,
		  struct daemon_options *d);
