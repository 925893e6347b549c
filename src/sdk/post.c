#include "sdk/post.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"

#define STEP_MS	     50
#define HEAD_CEILING 8192
#define ANSWER_SIZE  1024

/* Until the socket is ready for `events`, or the time is over. */
static enum err wait_for(const struct post *p, int fd, short events)
{
	struct pollfd one = {.fd = fd, .events = events};

	for (;;) {
		int n = poll(&one, 1, STEP_MS);

		if (n > 0)
			return ERR_OK;
		if (n < 0 && errno != EINTR)
			return err_from_errno(errno);
		if (clock_monotonic_ns() >= *p->deadline_ns)
			return ERR_TIMEOUT;
		p->idle(p->context);
	}
}

static enum err connect_to(const struct post *p, const struct addrinfo *a, int *ret)
{
	int fd = socket(a->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), error = 0;
	socklen_t size = sizeof(error);
	enum err e = ERR_OK;

	if (fd < 0)
		return err_from_errno(errno);
	if (connect(fd, a->ai_addr, a->ai_addrlen) != 0) {
		e = errno == EINPROGRESS ? wait_for(p, fd, POLLOUT) : err_from_errno(errno);
		if (!e && getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error)
			e = err_from_errno(error);
	}
	if (e)
		close(fd);
	else
		*ret = fd;
	return e;
}

/* Numbers first: a name makes libc open modules and read files. */
static int resolve(const struct post *p, struct addrinfo **ret)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM,
				 .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV};
	const char *host = strcmp(p->host, "localhost") ? p->host : "127.0.0.1";

	if (getaddrinfo(host, p->port, &hints, ret) == 0)
		return 0;
	hints.ai_flags = AI_NUMERICSERV;
	return getaddrinfo(host, p->port, &hints, ret);
}

static enum err open_connection(const struct post *p, int *ret)
{
	struct addrinfo *list;
	enum err e = ERR_UNAVAILABLE;

	if (resolve(p, &list) != 0)
		return ERR_UNAVAILABLE;
	for (const struct addrinfo *a = list; a && e; a = a->ai_next)
		e = connect_to(p, a, ret);
	freeaddrinfo(list);
	return e;
}

static enum err send_bytes(const struct post *p, int fd, struct str bytes)
{
	while (bytes.n) {
		ssize_t n = send(fd, bytes.p, bytes.n, MSG_NOSIGNAL);

		if (n > 0)
			bytes = str_skip(bytes, (size_t)n);
		else if (n < 0 && errno != EAGAIN && errno != EINTR)
			return err_from_errno(errno);
		else
			TRY(wait_for(p, fd, POLLOUT));
	}
	return ERR_OK;
}

/* "HTTP/1.1 200 OK": nothing behind it matters. */
static enum err read_status(const struct post *p, int fd, int *ret)
{
	char text[ANSWER_SIZE];
	size_t n = 0;
	uint64_t status;

	while (n < 12) {
		ssize_t got = recv(fd, text + n, sizeof(text) - n, 0);

		if (got > 0)
			n += (size_t)got;
		else if (got == 0)
			return ERR_TRUNCATED;
		else if (errno != EAGAIN && errno != EINTR)
			return err_from_errno(errno);
		else
			TRY(wait_for(p, fd, POLLIN));
	}
	if (!str_starts(str_n(text, n), STR("HTTP/1.")) ||
	    str_to_u64(str_n(text + 9, 3), 10, &status))
		return ERR_CORRUPT;
	*ret = (int)status;
	return ERR_OK;
}

static enum err talk(const struct post *p, int fd, int *ret_status)
{
	CLEANUP(buf_release) struct buf head = BUF_INIT(HEAD_CEILING);
	bool v6 = strchr(p->host, ':') != NULL;

	buf_printf(&head,
		   "POST %s HTTP/1.1\r\nHost: %s%s%s:%s\r\nUser-Agent: libvestal/" VESTAL_VERSION
		   "\r\nContent-Length: %zu\r\nConnection: close\r\n%s\r\n",
		   p->path, v6 ? "[" : "", p->host, v6 ? "]" : "", p->port, p->body.n, p->headers);
	TRY(buf_error(&head));
	TRY(send_bytes(p, fd, buf_view(&head)));
	TRY(send_bytes(p, fd, p->body));
	return read_status(p, fd, ret_status);
}

enum err post_send(const struct post *p, int *ret_status)
{
	enum err e;
	int fd;

	TRY(open_connection(p, &fd));
	e = talk(p, fd, ret_status);
	close(fd);
	return e;
}
