/*
 * HTTP/1.1: the first byte says how large the pieces are that the rest comes in. Whole or in
 * pieces, the handlers must see the same requests and the client the same replies; and what they
 * saw, written down again by us, must be one request that means the same.
 */
#include <stdlib.h>

#include "net/http1_parse.h"
#include "net/session_driver.h"

struct site {
	struct driver d;
	struct buf log;
	size_t admitted, finished;
};

static bool admit(void *context, struct http_exchange *x)
{
	struct site *s = context;

	if (str_starts(x->path, STR("/refuse"))) {
		http_reply_text(x, 403, "text/plain", STR("no"));
		return false;
	}
	s->admitted++;
	return true;
}

static void require(bool condition)
{
	if (!condition)
		abort();
}

/* Written plainly, the request is read as it was before. */
static void check_again(const struct http_exchange *x)
{
	struct buf b = BUF_INIT(1 << 24);
	struct http_header headers[HTTP1_MAX_HEADERS];
	struct http1_refusal refusal;
	struct http1_head head;
	size_t scanned = 0;

	buf_str(&b, x->method);
	buf_byte(&b, ' ');
	buf_str(&b, x->path);
	if (x->query.n)
		buf_byte(&b, '?');
	buf_str(&b, x->query);
	buf_text(&b, x->version == HTTP_1_0 ? " HTTP/1.0\r\n" : " HTTP/1.1\r\n");
	for (size_t i = 0; i < x->header_count; i++) {
		buf_str(&b, x->headers[i].name);
		buf_text(&b, ": ");
		buf_str(&b, x->headers[i].value);
		buf_text(&b, "\r\n");
	}
	buf_text(&b, "\r\n");
	require(http1_find_end(buf_view(&b), &scanned, &refusal) == HTTP1_DONE && scanned == b.n);
	require(http1_parse_head(b.data, b.n, headers, &head, &refusal) == HTTP1_DONE);
	require(head.header_count == x->header_count && str_eq(head.path, x->path) &&
		str_eq(head.query, x->query));
	require(!head.has_length || head.length == x->body.n);
	buf_release(&b);
}

static void handle(void *context, struct http_exchange *x)
{
	struct site *s = context;
	struct http_header type = {STR("x-echo"), http_find(x, STR("x-echo"))};
	struct http_response r = {
		.status = 200, .headers = &type, .header_count = 1, .body = BUF_INIT(SIZE_MAX)};

	check_again(x);
	buf_str(&s->log, x->method);
	buf_str(&s->log, x->path);
	buf_str(&s->log, x->authority);
	buf_str(&s->log, http_param(x, STR("a")));
	buf_str(&s->log, x->body);
	buf_byte(&s->log, '\n');
	buf_str(&r.body, x->body);
	http_reply(x, &r);
}

static void finished(void *context, struct http_exchange *x)
{
	struct site *s = context;

	(void)x;
	s->finished++;
}

static void serve(struct site *s, struct str bytes, size_t step)
{
	struct http_handlers handlers = {
		.context = s, .admit = admit, .handle = handle, .finished = finished};

	s->d.options = HTTP_OPTIONS_DEFAULT;
	s->d.options.max_head = 4096;
	s->d.options.max_body = 4096;
	buf_init(&s->log, SIZE_MAX);
	require(driver_init(&s->d, &handlers, http1_session_new) == ERR_OK);
	for (size_t at = 0; at < bytes.n; at += step)
		driver_input(&s->d, str_n(bytes.p + at, bytes.n - at < step ? bytes.n - at : step));
	if (!s->d.ended) {
		s->d.session->ops->end_of_input(s->d.session);
		driver_turn(&s->d);
	}
	/* Nothing is held: whatever was asked is answered, and the connection over. */
	require(s->d.ended && !s->d.error);
	require(s->finished == s->admitted && s->d.shared.live_exchanges == 0);
}

static void site_release(struct site *s)
{
	driver_release(&s->d);
	buf_release(&s->log);
}

/* Whether it is said depends on whether the body is there already. */
static void drop_continues(struct buf *b)
{
	struct str text = STR("HTTP/1.1 100 Continue\r\n\r\n");
	size_t at;

	while ((at = str_search(buf_view(b), text)) < b->n) {
		memmove(b->data + at, b->data + at + text.n, b->n - at - text.n);
		b->n -= text.n;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct site whole = {0}, pieces = {0};
	struct str bytes = size ? str_n(data + 1, size - 1) : STR("");

	serve(&whole, bytes, bytes.n ? bytes.n : 1);
	serve(&pieces, bytes, size ? (size_t)data[0] % 61 + 1 : 1);
	require(str_eq(buf_view(&whole.log), buf_view(&pieces.log)));
	drop_continues(&whole.d.sent);
	drop_continues(&pieces.d.sent);
	require(str_eq(buf_view(&whole.d.sent), buf_view(&pieces.d.sent)));
	site_release(&whole);
	site_release(&pieces);
	return 0;
}
