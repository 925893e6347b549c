/*
 * Drives a session without sockets: bytes in, what it sends into a buffer, the clock by hand.
 * Unit tests and fuzz targets share it.
 */
#pragma once

#include "base/clock.h"
#include "net/buf_pool.h"
#include "net/session.h"

struct driver {
	struct http_options options;
	struct http_handlers handlers;
	struct session_shared shared;
	struct buf_pool pool;
	struct session_peer peer;
	struct session *session;
	struct buf sent;
	enum err error;
	bool ended; /* closing, and everything sent */
};

typedef struct session *(*driver_session_new)(struct session_shared *shared,
					      const struct session_peer *peer, void *owner);

static inline enum err driver_init(struct driver *d, const struct http_handlers *handlers,
				   driver_session_new session_new)
{
	d->handlers = *handlers;
	if (!d->options.max_body)
		d->options = HTTP_OPTIONS_DEFAULT;
	d->shared = (struct session_shared){.options = &d->options,
					    .handlers = &d->handlers,
					    .pool = &d->pool,
					    .now_ns = NS_PER_S,
					    .date = "Thu, 01 Jan 1970 00:00:00 GMT"};
	mailbox_init(&d->shared.mailbox);
	d->peer = (struct session_peer){.text = STR("127.0.0.1:1"), .port = 4040};
	buf_init(&d->sent, SIZE_MAX);
	d->session = session_new(&d->shared, &d->peer, d);
	return d->session ? ERR_OK : ERR_NO_MEMORY;
}

/* As connection.c does it, with a peer that takes everything at once. */
static inline void driver_flush(struct driver *d)
{
	struct session *s = d->session;
	struct iovec parts[4];
	int count;

	for (;;) {
		if (s->ops->produce && !s->closing && s->out.bytes < SESSION_OUT_LOW)
			s->ops->produce(s);
		if (s->out.error && !d->error)
			d->error = s->out.error;
		count = d->error ? 0 : outqueue_view(&s->out, parts, 4);
		if (!count)
			break;
		for (int i = 0; i < count; i++) {
			buf_append(&d->sent, parts[i].iov_base, parts[i].iov_len);
			outqueue_sent(&s->out, parts[i].iov_len);
		}
	}
	if (d->sent.error && !d->error)
		d->error = d->sent.error;
	d->ended = d->error || (s->closing && !s->out.bytes);
}

/* Delivers replies until nothing moves any more. */
static inline void driver_turn(struct driver *d)
{
	struct mail *mail;

	driver_flush(d);
	while ((mail = mailbox_take(&d->shared.mailbox))) {
		for (struct mail *next; mail; mail = next) {
			next = mail->next;
			exchange_deliver((struct exchange *)((char *)mail -
							     offsetof(struct exchange, mail)));
		}
		driver_flush(d);
	}
}

/* Uses room() where the session offers it. What comes after the end is not read. */
static inline void driver_input(struct driver *d, struct str bytes)
{
	while (bytes.n && !d->ended && !d->session->closing) {
		size_t n = bytes.n, room_n = 0;
		char *room =
			d->session->ops->room ? d->session->ops->room(d->session, &room_n) : NULL;

		if (room) {
			n = n < room_n ? n : room_n;
			memcpy(room, bytes.p, n);
			d->error = d->session->ops->input(d->session, str_n(room, n));
		} else {
			d->error = d->session->ops->input(d->session, bytes);
		}
		bytes = str_skip(bytes, n);
		driver_turn(d);
	}
}

/* Moves the clock; a deadline that passes is told. */
static inline void driver_wait(struct driver *d, int64_t ns)
{
	d->shared.now_ns += ns;
	if (d->session->deadline_ns <= d->shared.now_ns && !d->ended)
		d->session->ops->expired(d->session);
	driver_turn(d);
}

static inline void driver_release(struct driver *d)
{
	session_free(d->session);
	d->session = NULL;
	/* Replies given and not delivered yet end their exchanges. */
	for (struct mail *mail = mailbox_take(&d->shared.mailbox), *next; mail; mail = next) {
		next = mail->next;
		exchange_deliver(
			(struct exchange *)((char *)mail - offsetof(struct exchange, mail)));
	}
	mailbox_release(&d->shared.mailbox);
	buf_pool_release(&d->pool);
	buf_release(&d->sent);
}
