/*
 * A session of HTTP/1.0 or 1.1: one request after the other. While a handler works, the session is
 * paused; what the peer has sent ahead (pipelining) waits in `kept`, so replies are in order by
 * themselves.
 *
 *	HEAD --head complete, admitted--> BODY --complete--> WAIT --reply--> HEAD
 *	   \--refused by admit--> WAIT --reply--> DISCARD (short body) --> HEAD, or the end
 */
#include "base/alloc.h"
#include "base/clock.h"
#include "net/http1_parse.h"
#include "net/http1_write.h"
#include "net/session.h"

#define DISCARD_MAX (64u << 10) /* longer unwanted bodies end the connection */
#define RATE_GRACE  (3 * NS_PER_S)
#define READ_AHEAD  (1u << 20) /* what may come in one piece while paused */
#define SMALL_BODY  (4u << 10) /* below it, reading in place is not worth it */

enum state { HEAD, BODY, WAIT, DISCARD, OVER };

struct http1 {
	struct session session; /* first */
	enum state state;
	struct buf kept;    /* input not used yet: the beginning of a head, later requests */
	size_t scanned;	    /* of a head that is not complete */
	struct exchange *x; /* in BODY and WAIT */
	struct http1_framing framing;
	bool chunked;
	struct http1_chunks chunks;
	uint64_t left; /* of a body whose length is known, or to discard after the reply */
	int64_t head_since_ns, body_since_ns;
	uint64_t body_received; /* framing included: what the peer has sent */
	bool unread; /* the body of a refused request is not read: the connection must end */
	bool input_ended;
	bool draining;
};

static struct http1 *http1_of(struct session *s)
{
	return (struct http1 *)s;
}

static void over(struct http1 *h, bool linger)
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

static void refuse(struct http1 *h, int status, const char *why)
{
	http1_write_refusal(&h->session.out, status, why, h->session.shared->date);
	over(h, true);
}

static void expect_head(struct http1 *h)
{
	const struct http_options *o = h->session.shared->options;

	h->state = HEAD;
	h->scanned = 0;
	h->session.paused = false;
	h->session.deadline_ns = h->session.shared->now_ns + o->idle_timeout_ns;
}

/* The moment from which on the average since the body began is too low, if nothing more comes. */
static void body_deadline(struct http1 *h)
{
	const struct http_options *o = h->session.shared->options;
	int64_t quiet = h->session.shared->now_ns + o->idle_timeout_ns, earned = RATE_GRACE;
	uint64_t seconds = o->min_body_rate ? h->body_received / o->min_body_rate : 0;

	if (seconds > RATE_GRACE / NS_PER_S)
		earned = (int64_t)(seconds < 1u << 30 ? seconds : 1u << 30) * NS_PER_S;
	h->session.deadline_ns = quiet;
	if (o->min_body_rate && h->body_since_ns + earned < quiet)
		h->session.deadline_ns = h->body_since_ns + earned;
}

static void begin_body(struct http1 *h, enum state state)
{
	h->state = state;
	h->body_since_ns = h->session.shared->now_ns;
	h->body_received = 0;
	body_deadline(h);
}

static void wait_for_reply(struct http1 *h)
{
	h->state = WAIT;
	h->session.paused = true;
	h->session.deadline_ns = SESSION_NEVER;
}

static void body_complete(struct http1 *h)
{
	wait_for_reply(h);
	exchange_handle(h->x);
}

static void admit(struct http1 *h, const struct http1_head *head, bool more_is_here)
{
	if (!exchange_admit(h->x)) {
		h->left = head->has_length ? head->length : 0;
		/* Whoever asked whether to send the body may send it or not: nobody can tell. */
		h->unread = head->chunked || h->left > DISCARD_MAX ||
			    (head->expects_continue && h->left);
		if (h->unread)
			h->framing.keep_alive = false;
		wait_for_reply(h);
		return;
	}
	if (head->has_length && head->length > h->x->http.max_body) {
		refuse(h, 413, "the body is larger than this server accepts");
		return;
	}
	h->chunked = head->chunked;
	h->chunks = (struct http1_chunks){0};
	h->left = head->has_length ? head->length : 0;
	if (!h->chunked && !h->left) {
		body_complete(h);
		return;
	}
	if (head->expects_continue && !more_is_here)
		outqueue_copy(&h->session.out, STR("HTTP/1.1 100 Continue\r\n\r\n"));
	begin_body(h, BODY);
}

/* Head complete: an exchange that holds a copy of it, and what `admit` says. */
static enum err take_head(struct http1 *h, struct str bytes, bool more_is_here)
{
	size_t table = http1_count_headers(bytes) * sizeof(struct http_header);
	struct http1_refusal refusal;
	struct http1_head head;
	void *extra;

	h->x = exchange_new(&h->session, table + bytes.n, &extra);
	if (!h->x)
		return ERR_NO_MEMORY;
	memcpy((char *)extra + table, bytes.p, bytes.n);
	if (http1_parse_head((char *)extra + table, bytes.n, extra, &head, &refusal) !=
	    HTTP1_DONE) {
		counter_add(&h->session.shared->counters.protocol_errors, 1);
		refuse(h, refusal.status, refusal.why);
		return ERR_OK;
	}
	h->framing = (struct http1_framing){.version = head.version,
					    .head = str_eq(head.method, STR("HEAD")),
					    .keep_alive = head.keep_alive};
	h->x->http.version = head.version;
	h->x->http.method = head.method;
	h->x->http.path = head.path;
	h->x->http.query = head.query;
	h->x->http.authority = head.authority;
	h->x->http.headers = head.headers;
	h->x->http.header_count = head.header_count;
	h->x->http.started_ns = h->head_since_ns;
	admit(h, &head, more_is_here);
	return ERR_OK;
}

static enum err step_head(struct http1 *h, struct str *input)
{
	const struct http_options *o = h->session.shared->options;
	struct http1_refusal refusal = {431, "the head of the request is too large"};
	enum http1_progress p;
	size_t all;

	/* Empty lines before a request: old clients send one too many. */
	while (!h->scanned && input->n >= 2 && input->p[0] == '\r' && input->p[1] == '\n')
		*input = str_skip(*input, 2);
	if (!input->n || str_eq(*input, STR("\r")))
		return ERR_OK;
	if (!h->scanned) {
		h->head_since_ns = h->session.shared->now_ns;
		h->session.deadline_ns = h->head_since_ns + o->head_timeout_ns;
	}
	p = http1_find_end(*input, &h->scanned, &refusal);
	all = h->scanned;
	if (p == HTTP1_REFUSED || all > o->max_head) {
		counter_add(&h->session.shared->counters.protocol_errors, 1);
		refuse(h, refusal.status, refusal.why);
		return ERR_OK;
	}
	if (p == HTTP1_MORE)
		return ERR_OK;
	h->scanned = 0;
	TRY(take_head(h, str_n(input->p, all), input->n > all));
	*input = str_skip(*input, all);
	return ERR_OK;
}

static enum err body_failed(struct http1 *h, enum err e)
{
	if (e != ERR_TOO_LARGE)
		return e;
	refuse(h, 413, "the body is larger than this server accepts");
	return ERR_OK;
}

static enum err step_chunked(struct http1 *h, struct str *input)
{
	struct http1_refusal refusal;
	enum http1_progress p;
	struct str data;

	do {
		p = http1_chunks_next(&h->chunks, input, &data, &refusal);
		if (data.n) {
			enum err e = exchange_body(h->x, data);

			if (e)
				return body_failed(h, e);
		}
	} while (p == HTTP1_MORE && data.n);
	if (p == HTTP1_DONE) {
		body_complete(h);
	} else if (p == HTTP1_REFUSED) {
		counter_add(&h->session.shared->counters.protocol_errors, 1);
		refuse(h, refusal.status, refusal.why);
	}
	return ERR_OK;
}

/* Of a known length: part of the body, or of what is thrown away. */
static enum err step_counted(struct http1 *h, struct str *input)
{
	size_t n = input->n < h->left ? input->n : (size_t)h->left;
	enum err e = h->state == BODY ? exchange_body(h->x, str_n(input->p, n)) : ERR_OK;

	if (e)
		return body_failed(h, e);
	*input = str_skip(*input, n);
	h->left -= n;
	if (h->left)
		return ERR_OK;
	if (h->state == BODY)
		body_complete(h);
	else
		expect_head(h);
	return ERR_OK;
}

static enum err step_body(struct http1 *h, struct str *input)
{
	size_t before = input->n;
	enum state state = h->state;
	enum err e = state == BODY && h->chunked ? step_chunked(h, input) : step_counted(h, input);

	h->body_received += before - input->n;
	if (h->state == state)
		body_deadline(h);
	return e;
}

/* Uses as much of the input as is possible now. */
static enum err advance(struct http1 *h, struct str *input)
{
	size_t before;
	enum state state;

	do {
		before = input->n;
		state = h->state;
		if (state == HEAD)
			TRY(step_head(h, input));
		else if (state == BODY || state == DISCARD)
			TRY(step_body(h, input));
	} while (input->n && (input->n != before || h->state != state));
	return ERR_OK;
}

/* Input that was kept comes first. */
static enum err advance_kept(struct http1 *h)
{
	struct str input = buf_view(&h->kept);
	size_t rest;

	TRY(advance(h, &input));
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
		over(h, false);
}

static enum err http1_input(struct session *s, struct str bytes)
{
	struct http1 *h = http1_of(s);

	if (h->state == OVER)
		return ERR_OK;
	if (!h->kept.n) {
		TRY(advance(h, &bytes));
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

static char *http1_room(struct session *s, size_t *ret_n)
{
	struct http1 *h = http1_of(s);

	if (h->state != BODY || h->chunked || h->left < SMALL_BODY)
		return NULL;
	return exchange_body_room(h->x, h->left, ret_n);
}

static void http1_end_of_input(struct session *s)
{
	struct http1 *h = http1_of(s);

	h->input_ended = true;
	if (h->state == BODY || h->state == DISCARD)
		over(h, false);
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
		http1_write_refusal(&s->out, 503, "there is no memory for the reply",
				    s->shared->date);
	exchange_drop(x);
	h->x = NULL;
	if (last) {
		over(h, unwanted || h->unread || h->kept.n);
		return;
	}
	expect_head(h);
	if (unwanted)
		begin_body(h, DISCARD);
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
		over(h, false);
		return;
	}
	counter_add(&s->shared->counters.timeouts, 1);
	if (h->state == DISCARD)
		over(h, true);
	else if (h->state == HEAD)
		refuse(h, 408, "the head of the request came too slowly");
	else if (h->state == BODY)
		refuse(h, 408, "the body of the request came too slowly");
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
	expect_head(h);
	return &h->session;
}
