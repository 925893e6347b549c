/* Handles requests of the control socket to a running agent. */
#pragma once

#include "agent/control.h"
#include "agent/exporter.h"
#include "agent/self_control.h"
#include "agent/targets.h"

struct daemon_control {
	struct control *socket; /* NULL = none */
	struct capture *capture;
	struct self_control *self;
	struct exporter *exporter;
	const struct targets *targets; /* in force */
	struct targets given;	       /* set over the socket, and their texts */
	struct buf given_texts;
	u32 rate_wanted; /* requested rate: the daemon ends the window and switches to it; 0 = no change */
};

/* `path` NULL: nothing is opened and daemon_control_turn does nothing. */
enum err daemon_control_open(struct daemon_control *c, const char *path,
			     struct fault *fault) MUST_CHECK;
void daemon_control_close(struct daemon_control *c);
void daemon_control_turn(struct daemon_control *c);
