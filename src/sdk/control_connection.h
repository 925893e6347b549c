/*
 * One connection to the control: a request is read, answered and the connection closed.
 */
#pragma once

#include "sdk/asks.h"
#include "sdk/own_socket.h"
#include "sdk/control_pages.h"

#define REQUEST_SIZE 8192

enum connection_state {
	CONNECTION_FREE,
	CONNECTION_READING,
	CONNECTION_ASKING, /* the background is at work */
	CONNECTION_WRITING,
};

struct connection {
	enum connection_state state;
	struct own_socket socket;
	struct ask *ask; /* its own, for good */
	const struct sdk_settings *settings;
	int64_t deadline; /* monotonic */
	const char *type; /* of the answer that is waited for */
	u32 n;
	size_t sent;
	struct buf head;
	struct buf body;
	char request[REQUEST_SIZE];
};

void connection_init(struct connection *c, u32 number, const struct sdk_settings *s);
void connection_open(struct connection *c, int fd);
/* What it waits for: poll()'s events. */
short connection_events(const struct connection *c);
/* Goes on, as far as that is possible now. */
void connection_turn(struct connection *c, short events);
void connection_close(struct connection *c);
/* In the child of fork(): nothing but the descriptor is given back. */
void connection_forget(struct connection *c);
