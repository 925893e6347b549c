#include "sdk/post.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "sdk/host_names.h"

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

static enum err connect_to(const struct post *p, const struct host_address *a, int *ret)
{
	int fd = socket(a->at.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), error = 0;
	socklen_t size = sizeof(error);
	enum err e = ERR_OK;

	if (fd < 0)
		return err_from_errno(errno);
	if (connect(fd, (const struct sockaddr *)&a->at, a->size) != 0) {
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

static enum err open_connection(const struct post *p, int *ret)
{
	const char *host = strcmp(p->host, "localhost") ? p->host : "127.0.0.1";
	struct host_address list[HOST_ADDRESSES_MOST];
	u32 n = host_addresses(host, p->port, list);
	enum err e = ERR_UNAVAILABLE;

	for (u32 i = 0; i < n && e; i++)
		e = connect_to(p, &list[i], ret);
	return e;
}

/* ------------------------------------------------------------------ bytes */

/* A connection, with TLS on it or without. */
struct wire {
	const struct post *post;
	int fd;
	struct post_tls *tls; /* NULL = none */
};

/* As the functions of post_tls.h answer. */
static ssize_t plain_step(ssize_t n, short events, short *ret_events)
{
	if (n >= 0 || (errno != EAGAIN && errno != EINTR))
		return n;
	*ret_events = events;
	return POST_TLS_WAIT;
}

static ssize_t send_step(struct wire *w, struct str bytes, short *ret_events)
{
	return w->tls ? post_tls_send(w->tls, bytes.p, bytes.n, ret_events)
		      : plain_step(send(w->fd, bytes.p, bytes.n, MSG_NOSIGNAL), POLLOUT,
				   ret_events);
}

static ssize_t receive_step(struct wire *w, char *to, size_t room, short *ret_events)
{
	return w->tls ? post_tls_receive(w->tls, to, room, ret_events)
		      : plain_step(recv(w->fd, to, room, 0), POLLIN, ret_events);
}

static enum err shake_hands(struct wire *w)
{
	short events;
	ssize_t n;

	while ((n = post_tls_shake(w->tls, &events)) == POST_TLS_WAIT)
		TRY(wait_for(w->post, w->fd, events));
	return n > 0 ? ERR_OK : ERR_NETWORK;
}

static enum err send_bytes(struct wire *w, struct str bytes)
{
	while (bytes.n) {
		short events;
		ssize_t n = send_step(w, bytes, &events);

		if (n > 0)
			bytes = str_skip(bytes, (size_t)n);
		else if (n != POST_TLS_WAIT)
			return ERR_NETWORK;
		else
			TRY(wait_for(w->post, w->fd, events));
	}
	return ERR_OK;
}

/* "HTTP/1.1 200 OK": the rest is ignored. */
static enum err read_status(struct wire *w, int *ret)
{
	char text[ANSWER_SIZE];
	size_t n = 0;
	uint64_t status;

	while (n < 12) {
		short events;
		ssize_t got = receive_step(w, text + n, sizeof(text) - n, &events);

		if (got > 0)
			n += (size_t)got;
		else if (got == 0)
			return ERR_TRUNCATED;
		else if (got != POST_TLS_WAIT)
			return ERR_NETWORK;
		else
			TRY(wait_for(w->post, w->fd, events));
	}
	if (!str_starts(str_n(text, n), STR("HTTP/1.")) ||
	    str_to_u64(str_n(text + 9, 3), 10, &status))
		return ERR_CORRUPT;
	*ret = (int)status;
	return ERR_OK;
}

static enum err talk(struct wire *w, int *ret_status)
{
	const struct post *p = w->post;
	CLEANUP(buf_release) struct buf head = BUF_INIT(HEAD_CEILING);
	bool v6 = strchr(p->host, ':') != NULL;

	buf_printf(&head,
		   "POST %s HTTP/1.1\r\nHost: %s%s%s:%s\r\nUser-Agent: libvestal/" VESTAL_VERSION
		   "\r\nContent-Length: %zu\r\nConnection: close\r\n%s\r\n",
		   p->path, v6 ? "[" : "", p->host, v6 ? "]" : "", p->port, p->body.n, p->headers);
	TRY(buf_error(&head));
	TRY(send_bytes(w, buf_view(&head)));
	TRY(send_bytes(w, p->body));
	return read_status(w, ret_status);
}

/* OpenSSL writes to the socket as to a file: a server that has gone away makes a signal of it,
 * which is the host's. It is blocked meanwhile, and taken back. */
static void block_pipe_signal(sigset_t *ret_before, bool *ret_pending)
{
	sigset_t pipe, pending;

	sigemptyset(&pipe);
	sigaddset(&pipe, SIGPIPE);
	sigpending(&pending);
	*ret_pending = sigismember(&pending, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &pipe, ret_before);
}

static void restore_pipe_signal(const sigset_t *before, bool pending)
{
	struct timespec none = {0, 0};
	sigset_t pipe;

	sigemptyset(&pipe);
	sigaddset(&pipe, SIGPIPE);
	if (!pending)
		while (sigtimedwait(&pipe, NULL, &none) < 0 && errno == EINTR)
			;
	pthread_sigmask(SIG_SETMASK, before, NULL);
}

static enum err talk_secretly(struct wire *w, int *ret_status)
{
	sigset_t before;
	bool pending;
	enum err e = post_tls_new(w->post->tls, w->fd, &w->tls);

	if (e)
		return e;
	block_pipe_signal(&before, &pending);
	e = shake_hands(w);
	if (!e)
		e = talk(w, ret_status);
	restore_pipe_signal(&before, pending);
	post_tls_free(w->tls);
	return e;
}

enum err post_send(const struct post *p, int *ret_status)
{
	struct wire w = {.post = p};
	enum err e;

	TRY(open_connection(p, &w.fd));
	e = p->tls ? talk_secretly(&w, ret_status) : talk(&w, ret_status);
	close(w.fd);
	return e;
}
