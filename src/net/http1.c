/*
 * A session of HTTP/1.0 or 1.1: one request after the other. While a handler works, the session is
 * paused; what the peer has sent ahead (pipelining) waits in `kept`, so replies are in order by
 * themselves.
 */
#include "net/http1.h"

#include "base/alloc.h"

#define READ_AHEAD (1u << 20) /* what may come in one piece while paused */
#define SMALL_BODY (4u << 10) /* below it, reading in place is not worth it */
/* With a head comes the beginning of its body, which must then be copied: little of it. */
#define HEAD_READ  (4u << 10)

static struct http1 *http1_of(struct session *s)
{
	return (struct http1 *)s;
}

void http1_over(struct http1 *h, bool linger)
{
	if (h->x)
		exchange_drop(h->x);
	h->x = NULL;
	h->state = OVER;
	h->session.closing = true;
	h->session.linger = linger;
	h->session.paused = true;
	h->session.deadline_ns = SESSION_NEVER;
	buf_release(&h->kept);
}

void http1_refuse(struct http1 *h, int status, const char *why)
{
	http1_write_refusal(&h->session.out, status, why, h->session.shared->date);
	http1_over(h, true);
}

void http1_expect_head(struct http1 *h)
{
	const struct http_options *o = h->session.shared->options;

	h->state = HEAD;
	h->scanned = 0;
	h->session.paused = false;
	h->session.deadline_ns = h->session.shared->now_ns + o->idle_timeout_ns;
}

/* Input that was kept comes first. */
static enum err advance_kept(struct http1 *h)
{
	struct str input = buf_view(&h->kept);
	size_t rest;

	TRY(http1_advance(h, &input));
	if (h->state == OVER)
		return ERR_OK;
	rest = input.n;
	if (rest && rest < h->kept.n)
		memmove(h->kept.data, input.p, rest);
	h->kept.n = rest;
	/* An idle connection holds no memory for what it does not have. */
	if (!rest)
		buf_release(&h->kept);
	return ERR_OK;
}

static void end_if_idle(struct http1 *h)
{
	if (h->state == HEAD && (h->input_ended || (h->draining && !h->kept.n)))
		http1_over(h, false);
}

static enum err take_input(struct http1 *h, struct str bytes)
{
	struct session *s = &h->session;

	if (h->state == OVER)
		return ERR_OK;
	if (!h->kept.n) {
		TRY(http1_advance(h, &bytes));
		if (h->state == OVER || !bytes.n)
			return ERR_OK;
		h->kept.ceiling = s->shared->options->max_head + READ_AHEAD;
		buf_str(&h->kept, bytes);
		return buf_error(&h->kept);
	}
	buf_str(&h->kept, bytes);
	TRY(buf_error(&h->kept));
	return h->state == WAIT ? ERR_OK : advance_kept(h);
}

static enum err http1_input(struct session *s, struct str bytes)
{
	enum err e = take_input(http1_of(s), bytes);

	s->memory = http1_of(s)->kept.cap;
	return e;
}

static char *http1_room(struct session *s, size_t *ret_n)
{
	struct http1 *h = http1_of(s);

	if (h->state == HEAD && !h->kept.n)
		*ret_n = HEAD_READ;
	if (h->state != BODY || h->chunked || h->left < SMALL_BODY)
		return NULL;
	return exchange_body_room(h->x, h->left, ret_n);
}

static void http1_end_of_input(struct session *s)
{
	struct http1 *h = http1_of(s);

	h->input_ended = true;
	if (h->state == BODY || h->state == DISCARD)
		http1_over(h, false);
	else
		end_if_idle(h);
}

static void http1_reply(struct session *s, struct exchange *x)
{
	struct http1 *h = http1_of(s);
	bool unwanted = !x->admitted && h->left, last;

	if ((h->input_ended || h->draining) && !h->kept.n)
		x->reply.close = true;
	last = x->reply.close || !x->reply.status || !h->framing.keep_alive;
	h->framing.keep_alive = !last;
	if (x->reply.status)
		http1_write_reply(&s->out, &x->reply, &h->framing, s->shared->date);
	else
		http1_write_refusal(&s->out, 503, "out of memory for the reply", s->shared->date);
	exchange_drop(x);
	h->x = NULL;
	if (last) {
		http1_over(h, unwanted || h->unread || h->kept.n);
		return;
	}
	http1_expect_head(h);
	if (unwanted)
		http1_begin_body(h, DISCARD);
}

/* After a reply, with what the peer has sent ahead. */
static void http1_produce(struct session *s)
{
	struct http1 *h = http1_of(s);

	if (h->kept.n && (h->state == HEAD || h->state == DISCARD) && h->scanned < h->kept.n) {
		enum err e = advance_kept(h);

		if (e && !s->out.error)
			s->out.error = e;
	}
	end_if_idle(h);
}

static void http1_expired(struct session *s)
{
	struct http1 *h = http1_of(s);

	if (h->state == HEAD && !h->kept.n) {
		http1_over(h, false);
		return;
	}
	counter_add(&s->shared->counters.timeouts, 1);
	if (h->state == DISCARD) {
		http1_over(h, true);
	} else if (h->state == HEAD) {
		http1_refuse(h, 408, "the head of the request came too slowly");
	} else if (h->state == BODY) {
		counter_add(&s->shared->counters.slow_bodies, 1);
		http1_refuse(h, 408, "the body of the request came too slowly");
	}
}

static void http1_drain(struct session *s)
{
	http1_of(s)->draining = true;
	end_if_idle(http1_of(s));
}

static void http1_free(struct session *s)
{
	buf_release(&http1_of(s)->kept);
	mem_free(s);
}

static const struct session_ops http1_ops = {
	.input = http1_input,
	.room = http1_room,
	.end_of_input = http1_end_of_input,
	.reply = http1_reply,
	.produce = http1_produce,
	.expired = http1_expired,
	.drain = http1_drain,
	.free = http1_free,
};

struct session *http1_session_new(struct session_shared *shared, const struct session_peer *peer,
				  void *owner)
{
	struct http1 *h = mem_zalloc(1, sizeof(*h));

	if (!h)
		return NULL;
	h->session =
		(struct session){.ops = &http1_ops, .shared = shared, .peer = peer, .owner = owner};
	http1_expect_head(h);
	return &h->session;
}
