#include "net/plain_post.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "net/plain_answer.h"
#include "net/transfer.h"

#define CONNECT_NS (10 * NS_PER_S)
#define HEAD_MAX   ((size_t)64 << 10)
#define HOST_MAX   256

struct plain {
	const struct fetch *request;
	char host[HOST_MAX], port[16];
	struct str authority, path;
	int fd;
	int64_t deadline;
};

/* "[::1]:4318", "host:4318", "host". */
static bool take_host(struct plain *p, struct str authority)
{
	struct str host = authority, port = STR("80");
	size_t colon;

	if (str_starts(host, STR("["))) {
		size_t end = str_find(host, ']');

		if (end == host.n)
			return false;
		port = str_skip(host, end + 1);
		host = str_n(host.p + 1, end - 1);
		port = port.n ? str_skip(port, 1) : STR("80");
	} else {
		colon = str_rfind(host, ':');
		if (colon < host.n) {
			port = str_skip(host, colon + 1);
			host.n = colon;
		}
	}
	if (!host.n || host.n >= sizeof(p->host) || !port.n || port.n >= sizeof(p->port))
		return false;
	snprintf(p->host, sizeof(p->host), "%.*s", (int)host.n, host.p);
	snprintf(p->port, sizeof(p->port), "%.*s", (int)port.n, port.p);
	return true;
}

static bool take_url(struct plain *p, struct str url)
{
	struct str rest;

	if (!str_starts(url, STR("http://")))
		return false;
	rest = str_skip(url, 7);
	p->authority = str_n(rest.p, str_find(rest, '/'));
	p->path = str_skip(rest, p->authority.n);
	if (!p->path.n)
		p->path = STR("/");
	return str_find(p->path, '#') == p->path.n &&
	       str_find(p->authority, '@') == p->authority.n &&
	       str_find(p->authority, '?') == p->authority.n && take_host(p, p->authority);
}

static bool has_proxy(void)
{
	static const char *const names[] = {"http_proxy", "all_proxy", "ALL_PROXY"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *value = getenv(names[i]);

		if (value && *value)
			return true;
	}
	return false;
}

static enum err wait_for(struct plain *p, short events, int64_t deadline)
{
	struct pollfd poll_fd = {.fd = p->fd, .events = events};

	for (;;) {
		int64_t left = deadline - clock_monotonic_ns();
		int n = left <= 0 ? 0 : poll(&poll_fd, 1, (int)(left / NS_PER_MS) + 1);

		if (n > 0)
			return ERR_OK;
		if (!n)
			return ERR_TIMEOUT;
		if (errno != EINTR)
			return err_from_errno(errno);
	}
}

/* 0, or why there is no connection. */
static int connect_to(struct plain *p, const struct addrinfo *to)
{
	int64_t deadline = clock_monotonic_ns() + CONNECT_NS;
	int error = 0;
	socklen_t size = sizeof(error);

	p->fd = socket(to->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (p->fd < 0)
		return errno;
	if (!connect(p->fd, to->ai_addr, to->ai_addrlen))
		return 0;
	error = errno;
	if (error == EINPROGRESS) {
		if (wait_for(p, POLLOUT, deadline < p->deadline ? deadline : p->deadline))
			error = ETIMEDOUT;
		else if (getsockopt(p->fd, SOL_SOCKET, SO_ERROR, &error, &size))
			error = errno;
	}
	if (error) {
		close(p->fd);
		p->fd = -1;
	}
	return error;
}

static enum err connect_any(struct plain *p, struct fault *fault)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *all = NULL;
	int failed = getaddrinfo(p->host, p->port, &hints, &all), error = 0;
	const char *why = gai_strerror(failed);

	for (struct addrinfo *to = failed ? NULL : all; to && p->fd < 0; to = to->ai_next)
		error = connect_to(p, to);
	if (all)
		freeaddrinfo(all);
	if (p->fd >= 0)
		return ERR_OK;
	if (p->request->failure)
		p->request->failure->unreachable = true;
	return fault_set(fault, ERR_NETWORK, "no connection to %s port %s: %s", p->host, p->port,
			 failed ? why : strerror(error));
}

static enum err send_all(struct plain *p, struct str bytes)
{
	while (bytes.n) {
		ssize_t n = send(p->fd, bytes.p, bytes.n, MSG_NOSIGNAL);

		if (n >= 0)
			bytes = str_skip(bytes, (size_t)n);
		else if (errno == EAGAIN)
			TRY(wait_for(p, POLLOUT, p->deadline));
		else if (errno == EPIPE)
			return ERR_OK; /* it has heard enough: its answer says why */
		else if (errno != EINTR)
			return err_from_errno(errno);
	}
	return ERR_OK;
}

static enum err send_request(struct plain *p)
{
	CLEANUP(buf_release) struct buf head = BUF_INIT(HEAD_MAX);
	const struct fetch *r = p->request;

	buf_printf(&head, "POST %.*s HTTP/1.1\r\nHost: %.*s\r\n", (int)p->path.n, p->path.p,
		   (int)p->authority.n, p->authority.p);
	if (r->user_agent)
		buf_printf(&head, "User-Agent: %s\r\n", r->user_agent);
	for (const char *const *h = r->headers; h && *h; h++)
		buf_printf(&head, "%s\r\n", *h);
	buf_printf(&head, "Content-Length: %zu\r\nConnection: close\r\n\r\n", r->body.n);
	TRY(buf_error(&head));
	TRY(send_all(p, buf_view(&head)));
	return send_all(p, r->body);
}

static enum err receive(struct plain *p, struct plain_answer *a)
{
	char room[16384];

	while (!a->complete) {
		ssize_t n = recv(p->fd, room, sizeof(room), 0);

		if (n > 0)
			TRY(plain_answer_add(a, str_n(room, (size_t)n)));
		else if (!n)
			return plain_answer_end(a);
		else if (errno == EAGAIN)
			TRY(wait_for(p, POLLIN, p->deadline));
		else if (errno != EINTR)
			return err_from_errno(errno);
	}
	return ERR_OK;
}

static enum err exchange(struct plain *p, struct plain_answer *a, struct fault *fault)
{
	enum err e;

	TRY(connect_any(p, fault));
	e = send_request(p);
	if (!e)
		e = receive(p, a);
	if (!e || e == ERR_NO_MEMORY)
		return e;
	if (e == ERR_TIMEOUT)
		return fault_set(fault, e, "no answer from %s port %s in time", p->host, p->port);
	if (e == ERR_TOO_LARGE)
		return fault_set(fault, e, "the answer is larger than %zu bytes", a->body->ceiling);
	if (e == ERR_CORRUPT || e == ERR_TRUNCATED)
		return fault_set(fault, ERR_NETWORK, "the answer of %s port %s is %s", p->host,
				 p->port, e == ERR_CORRUPT ? "not HTTP" : "not whole");
	return fault_set(fault, ERR_NETWORK, "the connection to %s port %s broke: %s", p->host,
			 p->port, err_text(e));
}

static enum err judge(const struct plain *p, const struct plain_answer *a, struct fault *fault)
{
	struct fetch_failure *f = p->request->failure;

	if (a->status < 300)
		return ERR_OK;
	if (a->status < 400)
		return ERR_UNSUPPORTED;
	if (f) {
		*f = (struct fetch_failure){.status = a->status,
					    .retry_after = a->retry_after,
					    .body_size = a->problem.n};
		if (a->problem.n)
			memcpy(f->body, a->problem.data, a->problem.n);
	}
	return transfer_status_fault(a->status, buf_view(&a->problem), fault);
}

enum err plain_post(const struct fetch *request, struct buf *ret, struct fault *fault)
{
	double seconds =
		request->timeout > 0 ? request->timeout : fetch_patience(str_of(request->url));
	struct plain p = {.request = request,
			  .fd = -1,
			  .deadline = clock_monotonic_ns() + (int64_t)(seconds * 1e9)};
	struct plain_answer answer;
	size_t before = ret->n;
	enum err e;

	if (!request->post || request->http2 || !take_url(&p, str_of(request->url)) || has_proxy())
		return ERR_UNSUPPORTED;
	plain_answer_init(&answer, ret);
	e = exchange(&p, &answer, fault);
	if (!e)
		e = judge(&p, &answer, fault);
	if (e) {
		ret->n = before;
		ret->error = ERR_OK;
	}
	if (p.fd >= 0)
		close(p.fd);
	plain_answer_release(&answer);
	return e;
}
