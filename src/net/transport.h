/*
 * The transport of a connection: plain or TLS. Sockets are non-blocking, epoll is edge-triggered:
 * after IO_AGAIN repeat the call after the next event, of either direction if `either_way` is set
 * (a TLS read may wait for a write).
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
	/* IO_OK with *ret_n > 0; IO_END: the peer has closed its direction. */
	enum io_status (*read)(struct transport *t, void *room, size_t n, size_t *ret_n);
	/* IO_OK with *ret_n > 0: bytes accepted, perhaps fewer than offered. */
	enum io_status (*write)(struct transport *t, const struct iovec *parts, int count,
				size_t *ret_n);
	/* Shuts down the sending direction, as far as possible without blocking. */
	void (*end)(struct transport *t);
	/* Releases `state`; the connection owns the descriptor. */
	void (*release)(struct transport *t);
	/* The protocol chosen by ALPN and the subject of the client's certificate, or empty; NULL =
	 * neither. Valid after the handshake, as long as the transport. */
	struct str (*protocol)(struct transport *t);
	struct str (*certificate)(struct transport *t);
};

struct transport {
	const struct transport_ops *ops;
	int fd;
	void *state; /* TLS: the SSL object and its state */
};

void transport_plain_init(struct transport *t, int fd);
