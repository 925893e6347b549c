/*
 * A socket inside the profiled program. Its number is high, so that the program's own descriptors
 * have the same numbers as without the library; and it is checked before use, because a program may
 * close all descriptors and reuse the number.
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

/* Takes over the descriptor. On failure it is closed. */
bool own_socket_take(struct own_socket *s, int fd);
/* Whether its number still refers to this socket. */
bool own_socket_there(const struct own_socket *s);
/* Closes it, unless its number was reused. */
void own_socket_close(struct own_socket *s);
/* Moves the descriptor to a high number, if possible, with close-on-exec. */
int own_descriptor(int fd);
