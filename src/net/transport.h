/*
 * How a connection's bytes travel: plain, or through TLS. Sockets do not block; epoll reports
 * edges, so that nobody asks for directions: after IO_AGAIN the same call is made again after the
 * next event, of either direction when `either_way` is set (a TLS read may wait for a write).
 */
#pragma once

#include <sys/uio.h>

#include "base/str.h"

enum io_status { IO_OK, IO_AGAIN, IO_END, IO_FAILED };

struct transport;

struct transport_ops {
	bool either_way;
	/* Before the first read; IO_OK: done. NULL = none needed. */
	enum io_status (*handshake)(struct transport *t);
	/* IO_OK with *ret_n > 0; IO_END: the peer sends nothing more. */
	enum io_status (*read)(struct transport *t, void *room, size_t n, size_t *ret_n);
	/* IO_OK with *ret_n > 0: that much was taken, perhaps less than offered. */
	enum io_status (*write)(struct transport *t, const struct iovec *parts, int count,
				size_t *ret_n);
	/* Tells the peer that nothing more comes, as far as that is possible without waiting. */
	void (*end)(struct transport *t);
	/* Releases `state`; the descriptor is the connection's. */
	void (*release)(struct transport *t);
	/* The protocol chosen by ALPN and the subject of the client's certificate, or empty; NULL =
	 * neither. Valid after the handshake, as long as the transport. */
	struct str (*protocol)(struct transport *t);
	struct str (*certificate)(struct transport *t);
};

struct transport {
	const struct transport_ops *ops;
	int fd;
	void *state; /* TLS: the SSL object and what belongs to it */
};

void transport_plain_init(struct transport *t, int fd);
