/* Options of an agent that sends profiles: endpoint, queue, redaction. */
#pragma once

#include "agent/agent.h"
#include "cli/command.h"

#define AGENT_QUEUE "/var/lib/vestal/agent"

/* NULL and 0: not given. */
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

/* Overrides the daemon's options by those that were given. Returns an exit status. */
int sending_apply(const struct invocation *in, const struct sending_options *o,
		  struct daemon_options *d);
