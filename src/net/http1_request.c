/* The receiving half of an HTTP/1.1 session: heads and bodies out of the input. */
#include "base/clock.h"
#include "net/http1.h"

#define DISCARD_MAX (64u << 10) /* longer unwanted bodies end the connection */
#define RATE_GRACE  (3 * NS_PER_S)

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

void http1_begin_body(struct http1 *h, enum http1_state state)
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
		/* A client that sent Expect may or may not send the body, which is unknown here. */
		h->unread = head->chunked || h->left > DISCARD_MAX ||
			    (head->expects_continue && h->left);
		if (h->unread)
			h->framing.keep_alive = false;
		wait_for_reply(h);
		return;
	}
	if (head->has_length && head->length > h->x->http.max_body) {
		http1_refuse(h, 413, "the body is larger than this server accepts");
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
	http1_begin_body(h, BODY);
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
		http1_refuse(h, refusal.status, refusal.why);
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
	/* Bytes above the limit are not parsed, so that the reply does not depend on how they
	 * arrive. */
	p = http1_find_end(str_n(input->p, input->n < o->max_head ? input->n : o->max_head),
			   &h->scanned, &refusal);
	all = h->scanned;
	if (p == HTTP1_REFUSED || (p == HTTP1_MORE && input->n > o->max_head)) {
		counter_add(&h->session.shared->counters.protocol_errors, 1);
		http1_refuse(h, refusal.status, refusal.why);
		return ERR_OK;
	}
	if (p == HTTP1_MORE)
		return ERR_OK;
	h->scanned = 0;
	TRY(take_head(h, str_n(input->p, all), input->n > all));
	*input = str_skip(*input, all);
	return ERR_OK;
}

/* The rest of the body is not read: the connection is closed after the reply. */
static enum err body_failed(struct http1 *h, enum err e)
{
	if (e == ERR_TOO_LARGE) {
		http1_refuse(h, 413, "the body is larger than this server accepts");
		return ERR_OK;
	}
	if (e != ERR_BUSY)
		return e;
	h->left = 0;
	h->unread = true;
	h->framing.keep_alive = false;
	wait_for_reply(h);
	if (!exchange_refuse(h->x, e))
		http1_refuse(h, 429, "out of memory for the body");
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
		http1_refuse(h, refusal.status, refusal.why);
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
		http1_expect_head(h);
	return ERR_OK;
}

static enum err step_body(struct http1 *h, struct str *input)
{
	size_t before = input->n;
	enum http1_state state = h->state;
	enum err e = state == BODY && h->chunked ? step_chunked(h, input) : step_counted(h, input);

	h->body_received += before - input->n;
	if (h->state == state)
		body_deadline(h);
	return e;
}

/* Uses as much of the input as is possible now. */
enum err http1_advance(struct http1 *h, struct str *input)
{
	size_t before;
	enum http1_state state;

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
