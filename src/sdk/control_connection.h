/*
 * One connection to the control server: reads a request, replies and closes the connection.
 */
#pragma once

#include "sdk/asks.h"
#include "sdk/own_socket.h"
#include "sdk/control_pages.h"

#define REQUEST_SIZE 8192

enum connection_state {
	CONNECTION_FREE,
	CONNECTION_READING,
	CONNECTION_ASKING, /* waiting for the background thread */
	CONNECTION_WRITING,
};

struct connection {
	enum connection_state state;
	struct own_socket socket;
	struct ask *ask; /* its own, for good */
	const struct sdk_settings *settings;
	int64_t deadline; /* monotonic */
	const char *type; /* of the pending answer */
	u32 n;
	size_t sent;
	struct buf head;
	struct buf body;
	char request[REQUEST_SIZE];
};

void connection_init(struct connection *c, u32 number, const struct sdk_settings *s);
void connection_open(struct connection *c, int fd);
/* The poll() events it waits for. */
short connection_events(const struct connection *c);
/* Proceeds as far as possible without blocking. */
void connection_turn(struct connection *c, short events);
void connection_close(struct connection *c);
/* In the child of fork(): only closes the descriptor. */
void connection_forget(struct connection *c);
