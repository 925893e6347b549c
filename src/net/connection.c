#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "net/loop.h"

#define READ_BUDGET (128u << 10) /* then others have their turn */

static void name_peer(struct connection *c, bool local)
{
	union {
		struct sockaddr any;
		struct sockaddr_in in;
		struct sockaddr_in6 in6;
		struct sockaddr_un un;
	} a = {0};
	socklen_t size = sizeof(a);
	char host[INET6_ADDRSTRLEN];
	int n = 0;

	if (local || getpeername(c->transport.fd, &a.any, &size) != 0)
		n = snprintf(c->peer_text, sizeof(c->peer_text), "unix");
	else if (a.any.sa_family == AF_INET6 &&
		 inet_ntop(AF_INET6, &a.in6.sin6_addr, host, sizeof(host)))
		n = snprintf(c->peer_text, sizeof(c->peer_text), "[%s]:%u", host,
			     ntohs(a.in6.sin6_port));
	else if (a.any.sa_family == AF_INET &&
		 inet_ntop(AF_INET, &a.in.sin_addr, host, sizeof(host)))
		n = snprintf(c->peer_text, sizeof(c->peer_text), "%s:%u", host,
			     ntohs(a.in.sin_port));
	c->peer.text = str_n(c->peer_text, n > 0 ? (size_t)n : 0);
}

/* As the kernel knows it; of another network there is none. */
static uint32_t peer_uid(int fd)
{
	struct ucred who;
	socklen_t size = sizeof(who);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size) ? HTTP_NO_UID : who.uid;
}

struct connection *connection_new(struct loop *l, const struct listener *listener, int fd)
{
	struct connection *c = mem_zalloc(1, sizeof(*c));
	struct http_server *s = l->server;

	if (!c) {
		close(fd);
		return NULL;
	}
	c->watch = WATCH_CONNECTION;
	c->loop = l;
	c->peer.port = listener->port;
	c->peer.is_local = listener->local;
	c->peer.uid = listener->local ? peer_uid(fd) : HTTP_NO_UID;
	if (!s->tls) {
		transport_plain_init(&c->transport, fd);
	} else if (tls_accept(s->tls, fd, &c->transport)) {
		close(fd);
		mem_free(c);
		return NULL;
	}
	c->handshaken = c->transport.ops->handshake == NULL;
	name_peer(c, listener->local);
	return c;
}

void connection_free(struct connection *c)
{
	if (!c)
		return;
	session_free(c->session);
	if (c->transport.ops)
		c->transport.ops->release(&c->transport);
	if (c->transport.fd >= 0)
		close(c->transport.fd);
	memory_hold_release(&c->hold);
	mem_free(c);
}

/* Browsers open connections ahead of time, and are not sent away at once. */
static int64_t first_byte_time(const struct connection *c)
{
	const struct http_options *o = &c->loop->server->options;
	int64_t patience = 3 * o->head_timeout_ns;

	if (!c->handshaken)
		return o->head_timeout_ns;
	return patience < o->idle_timeout_ns ? patience : o->idle_timeout_ns;
}

void connection_begin(struct connection *c)
{
	struct loop *l = c->loop;
	struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET,
				    .data.ptr = c};

	counter_add(&l->shared.counters.connections, 1);
	connection_list(c);
	if (c->at_limit && !connection_make_room(c)) {
		connection_refuse(l, c->transport.fd);
		connection_close(c);
		return;
	}
	if (!connection_charge(c))
		return;
	c->deadline_ns = l->shared.now_ns + first_byte_time(c);
	/* Most clients' first bytes are here already. */
	c->readable = c->writable = true;
	if (timer_heap_reserve(&l->timers, atomic_load(&l->open)) ||
	    epoll_ctl(l->epoll, EPOLL_CTL_ADD, c->transport.fd, &event) != 0)
		connection_close(c);
	else if (l->stopping)
		connection_drain(c);
	else
		connection_run(c);
}

void connection_close(struct connection *c)
{
	struct loop *l = c->loop;

	if (c->dead)
		return;
	c->dead = true;
	session_free(c->session);
	c->session = NULL;
	c->transport.ops->release(&c->transport);
	c->transport.ops = NULL;
	close(c->transport.fd);
	c->transport.fd = -1;
	timer_remove(&l->timers, &c->timer);
	memory_hold_release(&c->hold);
	connection_uncount(c);
	connection_unlist(c);
	/* Events of this turn may still name it. */
	c->next = l->dead;
	l->dead = c;
	atomic_fetch_sub(&l->open, 1);
}

/* No method of HTTP/1.1 begins as the preface of HTTP/2 does. */
static bool says_http2(const struct connection *c, struct str bytes, bool *ret_unclear)
{
	char first[sizeof(c->early) + 1];
	size_t n = c->early_n;

	memcpy(first, c->early, n);
	for (; n < sizeof(first) && bytes.n; bytes = str_skip(bytes, 1))
		first[n++] = bytes.p[0];
	*ret_unclear = n < sizeof(first) && memcmp(first, HTTP2_PREFACE, n) == 0;
	return n == sizeof(first) && memcmp(first, HTTP2_PREFACE, n) == 0;
}

static enum err begin_session(struct connection *c, bool http2)
{
	struct session *(*make)(struct session_shared *, const struct session_peer *, void *) =
		http2 ? http2_session_new : http1_session_new;
	struct str early = {c->early, c->early_n};

	c->session = make(&c->loop->shared, &c->peer, c);
	if (!c->session)
		return ERR_NO_MEMORY;
	return early.n ? c->session->ops->input(c->session, early) : ERR_OK;
}

static enum err feed(struct connection *c, struct str bytes)
{
	bool unclear;

	if (!c->session) {
		bool http2 = says_http2(c, bytes, &unclear);

		if (unclear) {
			memcpy(c->early + c->early_n, bytes.p, bytes.n);
			c->early_n += (uint8_t)bytes.n;
			c->deadline_ns =
				c->loop->shared.now_ns + c->loop->server->options.head_timeout_ns;
			return ERR_OK;
		}
		TRY(begin_session(c, http2));
	}
	return c->session->ops->input(c->session, bytes);
}

static bool wants_input(const struct connection *c)
{
	const struct session *s = c->session;

	return c->readable && !c->input_ended &&
	       (!s || (!s->paused && !s->closing && s->out.bytes < SESSION_OUT_LOW));
}

static void input_ended(struct connection *c)
{
	c->input_ended = true;
	c->readable = false;
	if (!c->session)
		connection_close(c);
	else
		c->session->ops->end_of_input(c->session);
}

static void note_input(struct connection *c)
{
	c->asked |= c->session && c->session->exchanges;
	connection_touch(c);
	(void)connection_charge(c);
}

/* One read. False: the connection is closed. */
static bool read_some(struct connection *c, size_t *budget)
{
	struct loop *l = c->loop;
	size_t room_n = LOOP_SCRATCH, n = 0;
	char *room = NULL;
	enum io_status status;

	if (c->session && c->session->ops->room)
		room = c->session->ops->room(c->session, &room_n);
	if (!room) {
		room = l->scratch;
		if (!room_n || room_n > LOOP_SCRATCH)
			room_n = LOOP_SCRATCH;
	}
	status = c->transport.ops->read(&c->transport, room, room_n, &n);
	if (status == IO_FAILED) {
		connection_close(c);
	} else if (status == IO_AGAIN) {
		c->readable = false;
	} else if (status == IO_END) {
		input_ended(c);
	} else {
		counter_add(&l->shared.counters.bytes_in, n);
		*budget -= n < *budget ? n : *budget;
		/* A short read: the socket is empty, and epoll will report new data. */
		if (n < room_n && !c->transport.ops->either_way && !c->hung_up)
			c->readable = false;
		if (feed(c, str_n(room, n)))
			connection_close(c);
		else
			note_input(c);
	}
	return !c->dead;
}

static int64_t next_deadline(const struct connection *c)
{
	int64_t reading = c->session ? c->session->deadline_ns : c->deadline_ns;
	int64_t writing = connection_write_deadline(c);

	return reading < writing ? reading : writing;
}

static bool shake_hands(struct connection *c)
{
	enum io_status status = c->transport.ops->handshake(&c->transport);

	if (status == IO_OK) {
		c->handshaken = true;
		c->deadline_ns = c->loop->shared.now_ns + first_byte_time(c);
		if (c->transport.ops->certificate)
			c->peer.certificate = c->transport.ops->certificate(&c->transport);
		return true;
	}
	if (status != IO_AGAIN)
		connection_close(c);
	return false;
}

void connection_run(struct connection *c)
{
	size_t budget = READ_BUDGET;

	if (c->dead)
		return;
	if (c->lingering) {
		connection_linger(c);
		return;
	}
	if (!c->handshaken && !shake_hands(c)) {
		if (!c->dead)
			timer_set(&c->loop->timers, &c->timer, next_deadline(c));
		return;
	}
	do {
		if (!connection_flush(c))
			return;
		while (budget && wants_input(c))
			if (!read_some(c, &budget))
				return;
		if (!connection_flush(c))
			return;
	} while (budget && wants_input(c));
	if (wants_input(c))
		loop_ready(c->loop, c);
	timer_set(&c->loop->timers, &c->timer, next_deadline(c));
}

void connection_event(struct connection *c, uint32_t events)
{
	bool broken = events & (EPOLLERR | EPOLLHUP);

	if (c->dead)
		return;
	if (broken || (events & EPOLLIN) || c->transport.ops->either_way)
		c->readable = true;
	if (broken || (events & EPOLLOUT) || c->transport.ops->either_way)
		c->writable = true;
	if (events & EPOLLRDHUP) {
		c->hung_up = c->readable = true;
		if (c->session)
			session_gone(c->session);
	}
	/* Nothing can be sent any more: cancel its running requests. */
	if (broken && !(events & EPOLLIN))
		connection_close(c);
	else if (broken && c->session && c->session->paused)
		connection_close(c);
	else
		connection_run(c);
}

void connection_expired(struct connection *c)
{
	int64_t now = c->loop->shared.now_ns;
	bool stuck = connection_write_deadline(c) <= now;

	if (next_deadline(c) > now) {
		timer_set(&c->loop->timers, &c->timer, next_deadline(c));
		return;
	}
	if (stuck || !c->session || c->session->closing) {
		if (stuck || !c->handshaken)
			counter_add(&c->loop->shared.counters.timeouts, 1);
		if (stuck)
			counter_add(&c->loop->shared.counters.slow_readers, 1);
		connection_close(c);
		return;
	}
	c->session->ops->expired(c->session);
	connection_run(c);
}

/* Requests received before the stop are still answered. */
void connection_drain(struct connection *c)
{
	c->readable = true;
	connection_run(c);
	if (c->dead || c->lingering)
		return;
	if (!c->session) {
		connection_close(c);
		return;
	}
	c->session->ops->drain(c->session);
	connection_run(c);
}
