#include "agent/worker_wire.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"

union descriptor_room {
	struct cmsghdr head;
	char bytes[CMSG_SPACE(sizeof(int))];
};

enum err wire_send(int socket, const void *bytes, size_t size)
{
	const char *at = bytes;

	while (size) {
		ssize_t n = send(socket, at, size, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_from_errno(errno);
		at += n;
		size -= (size_t)n;
	}
	return ERR_OK;
}

enum err wire_send_head(int socket, const struct wire_head *head, int fd)
{
	union descriptor_room room = {0};
	struct iovec bytes = {(void *)head, sizeof(*head)};
	struct msghdr m = {.msg_iov = &bytes, .msg_iovlen = 1};
	ssize_t n;

	if (fd >= 0) {
		m.msg_control = &room;
		m.msg_controllen = sizeof(room);
		*CMSG_FIRSTHDR(&m) = (struct cmsghdr){.cmsg_level = SOL_SOCKET,
						      .cmsg_type = SCM_RIGHTS,
						      .cmsg_len = CMSG_LEN(sizeof(fd))};
		memcpy(CMSG_DATA(CMSG_FIRSTHDR(&m)), &fd, sizeof(fd));
	}
	do
		n = sendmsg(socket, &m, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return err_from_errno(errno);
	return wire_send(socket, (const char *)head + n, sizeof(*head) - (size_t)n);
}

enum err wire_wait(int socket, int64_t deadline)
{
	struct pollfd p = {.fd = socket, .events = POLLIN};

	if (deadline == WIRE_FOREVER)
		return ERR_OK;
	for (;;) {
		int64_t left = deadline - clock_monotonic_ns();
		int n = left <= 0 ? 0 : poll(&p, 1, (int)((left + NS_PER_MS - 1) / NS_PER_MS));

		if (n > 0)
			return ERR_OK;
		if (n < 0 && errno != EINTR)
			return err_from_errno(errno);
		if (!n)
			return ERR_TIMEOUT;
	}
}

enum err wire_recv(int socket, void *bytes, size_t size, int64_t deadline)
{
	char *at = bytes;

	while (size) {
		ssize_t n;

		TRY(wire_wait(socket, deadline));
		n = recv(socket, at, size, 0);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_from_errno(errno);
		if (!n)
			return ERR_TRUNCATED;
		at += n;
		size -= (size_t)n;
	}
	return ERR_OK;
}

enum err wire_recv_head(int socket, struct wire_head *ret, int *ret_fd, int64_t deadline)
{
	union descriptor_room room = {0};
	struct iovec bytes = {ret, sizeof(*ret)};
	struct msghdr m = {.msg_iov = &bytes,
			   .msg_iovlen = 1,
			   .msg_control = &room,
			   .msg_controllen = sizeof(room)};
	struct cmsghdr *c;
	ssize_t n;
	enum err e;

	*ret_fd = -1;
	TRY(wire_wait(socket, deadline));
	do
		n = recvmsg(socket, &m, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n <= 0)
		return n ? err_from_errno(errno) : ERR_TRUNCATED;
	c = CMSG_FIRSTHDR(&m);
	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS &&
	    c->cmsg_len == CMSG_LEN(sizeof(*ret_fd)))
		memcpy(ret_fd, CMSG_DATA(c), sizeof(*ret_fd));
	e = wire_recv(socket, (char *)ret + n, sizeof(*ret) - (size_t)n, deadline);
	if (e && *ret_fd >= 0) {
		close(*ret_fd);
		*ret_fd = -1;
	}
	return e;
}
