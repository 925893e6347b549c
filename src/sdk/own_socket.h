/*
 * A socket inside a stranger's process. Its number is high, so that the host's descriptors have the
 * numbers they would have without us; and it is looked at before it is used, because a host may
 * close every descriptor and open its own under the same number.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct own_socket {
	int fd; /* -1 = none */
	uint64_t device, inode;
};

#define OWN_SOCKET_NONE     \
	(struct own_socket) \
	{                   \
		-1, 0, 0    \
	}

/* Takes the descriptor over. On failure it is closed. */
bool own_socket_take(struct own_socket *s, int fd);
/* Whether its number still means this socket. */
bool own_socket_there(const struct own_socket *s);
/* Closes it, unless its number means something else by now. */
void own_socket_close(struct own_socket *s);
/* The descriptor's number moved up, where there is room; closed on exec(). */
int own_descriptor(int fd);
