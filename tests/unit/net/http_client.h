/* A client that does what it is told, also what no library would do. Unit tests only. */
#pragma once

#include <arpa/inet.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/str.h"

#define CLIENT_PATIENCE_MS 20000 /* a test that waits longer has failed */

/* To what http_server_listen said it listens on; -1 when refused. */
static inline int client_connect(struct str address)
{
	union {
		struct sockaddr any;
		struct sockaddr_in in;
		struct sockaddr_in6 in6;
		struct sockaddr_un un;
	} a = {0};
	socklen_t size = sizeof(a.in);
	size_t colon = str_rfind(address, ':');
	uint64_t port = 0;
	int fd;

	if (str_starts(address, STR("unix:"))) {
		a.un.sun_family = AF_UNIX;
		memcpy(a.un.sun_path, address.p + 5, address.n - 5);
		size = sizeof(a.un);
	} else if (str_to_u64(str_skip(address, colon + 1), 10, &port)) {
		return -1;
	} else if (address.p[0] == '[') {
		a.in6.sin6_family = AF_INET6;
		a.in6.sin6_port = htons((uint16_t)port);
		a.in6.sin6_addr = in6addr_loopback;
		size = sizeof(a.in6);
	} else {
		a.in.sin_family = AF_INET;
		a.in.sin_port = htons((uint16_t)port);
		a.in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	}
	fd = socket(a.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd >= 0 && connect(fd, &a.any, size) != 0) {
		close(fd);
		return -1;
	}
	return fd;
}

/* False: the server closed. */
static inline bool client_send(int fd, struct str bytes)
{
	while (bytes.n) {
		ssize_t n = send(fd, bytes.p, bytes.n, MSG_NOSIGNAL);

		if (n <= 0)
			return false;
		bytes = str_skip(bytes, (size_t)n);
	}
	return true;
}

/* One read; 0 at the end, -1 when it was reset or nothing came. */
static inline ssize_t client_read(int fd, struct buf *b)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	char *room = buf_reserve(b, 65536);
	ssize_t n;

	if (!room || poll(&p, 1, CLIENT_PATIENCE_MS) <= 0)
		return -1;
	n = recv(fd, room, 65536, 0);
	if (n > 0)
		b->n += (size_t)n;
	if (b->data)
		b->data[b->n] = '\0';
	return n;
}

/* Everything until the server closes. False: reset, or too late. */
static inline bool client_read_all(int fd, struct buf *b)
{
	ssize_t n;

	while ((n = client_read(fd, b)) > 0)
		;
	return n == 0;
}

/* The length of a whole reply with Content-Length (or without a body) at the beginning, or 0. */
static inline size_t client_reply_size(struct str bytes)
{
	size_t head = str_search(bytes, STR("\r\n\r\n")), at;
	uint64_t length = 0;
	struct str number;

	if (head == bytes.n)
		return 0;
	at = str_search(str_n(bytes.p, head), STR("Content-Length: "));
	if (at < head) {
		number = str_skip(bytes, at + 16);
		if (str_to_u64(str_n(number.p, str_find(number, '\r')), 10, &length))
			return 0;
	}
	return head + 4 + length <= bytes.n ? head + 4 + (size_t)length : 0;
}

/* Reads one reply and returns its status; its body is put into `ret_body` (NULL = not wanted).
 * `kept` holds what was read beyond it. 0: the connection ended. */
static inline int client_reply(int fd, struct buf *kept, struct buf *ret_body)
{
	size_t size, head;
	uint64_t status = 0;

	while (!(size = client_reply_size(buf_view(kept))))
		if (client_read(fd, kept) <= 0)
			return 0;
	if (str_to_u64(str_n(kept->data + 9, 3), 10, &status))
		return 0;
	head = str_search(buf_view(kept), STR("\r\n\r\n")) + 4;
	if (ret_body)
		buf_append(ret_body, kept->data + head, size - head);
	memmove(kept->data, kept->data + size, kept->n - size);
	kept->n -= size;
	return (int)status;
}
