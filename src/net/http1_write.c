#include "net/http1_write.h"

#include "net/http1_parse.h"

#define HEAD_MAX (2u << 20)

/* These frame the message and are ours to say; a caller's would contradict them. */
static bool is_framing(struct str name)
{
	static const struct str ours[] = {STR("content-length"), STR("transfer-encoding"),
					  STR("connection"),	 STR("date"),
					  STR("server"),	 STR("trailer")};

	for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++)
		if (name.n == ours[i].n && strncasecmp(name.p, ours[i].p, name.n) == 0)
			return true;
	return false;
}

/* A value with a line end would be another header, or another reply: it is left out. */
static bool is_sendable(const struct http_header *h)
{
	return http1_is_token(h->name) && http1_is_value(h->value) && !is_framing(h->name);
}

static void write_pairs(struct buf *b, const struct http_header *pairs, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (!is_sendable(&pairs[i]))
			continue;
		buf_str(b, pairs[i].name);
		buf_append(b, ": ", 2);
		buf_str(b, pairs[i].value);
		buf_append(b, "\r\n", 2);
	}
}

static void write_trailer_names(struct buf *b, const struct reply *r)
{
	bool first = true;

	for (size_t i = 0; i < r->trailer_count; i++) {
		if (!is_sendable(&r->trailers[i]))
			continue;
		buf_text(b, first ? "Trailer: " : ", ");
		buf_str(b, r->trailers[i].name);
		first = false;
	}
	if (!first)
		buf_text(b, "\r\n");
}

static bool has_no_body(int status)
{
	return status < 200 || status == 204 || status == 304;
}

static void write_head(struct buf *b, const struct reply *r, const struct http1_framing *framing,
		       bool chunked, size_t length, const char *date)
{
	buf_text(b, "HTTP/1.1 ");
	buf_u64(b, (uint64_t)r->status);
	buf_byte(b, ' ');
	buf_text(b, http_reason(r->status));
	buf_text(b, "\r\nServer: vestal\r\nDate: ");
	buf_text(b, date);
	buf_text(b, "\r\n");
	if (chunked) {
		buf_text(b, "Transfer-Encoding: chunked\r\n");
		write_trailer_names(b, r);
	} else if (!has_no_body(r->status)) {
		buf_text(b, "Content-Length: ");
		buf_u64(b, length);
		buf_text(b, "\r\n");
	}
	if (!framing->keep_alive)
		buf_text(b, "Connection: close\r\n");
	else if (framing->version == HTTP_1_0)
		buf_text(b, "Connection: keep-alive\r\n");
	if (r->timing[0]) {
		buf_text(b, "Server-Timing: ");
		buf_text(b, r->timing);
		buf_text(b, "\r\n");
	}
	write_pairs(b, r->headers, r->header_count);
	buf_text(b, "\r\n");
}

void http1_write_reply(struct outqueue *out, struct reply *r, const struct http1_framing *framing,
		       const char *date)
{
	bool is_static = r->static_body.p != NULL;
	size_t length = is_static ? r->static_body.n : r->body.n;
	bool chunked = r->trailer_count && framing->version == HTTP_1_1 && !has_no_body(r->status);
	bool send_body = !framing->head && !r->head_only && !has_no_body(r->status);
	struct buf b = BUF_INIT(HEAD_MAX);

	write_head(&b, r, framing, chunked, length, date);
	if (chunked && send_body && length)
		buf_printf(&b, "%zx\r\n", length);
	if (b.error && !out->error)
		out->error = b.error;
	outqueue_copy(out, buf_view(&b));
	buf_clear(&b);
	if (send_body && is_static)
		outqueue_static(out, r->static_body);
	else if (send_body)
		outqueue_take(out, &r->body, &r->hold);
	if (chunked && send_body) {
		buf_text(&b, length ? "\r\n0\r\n" : "0\r\n");
		write_pairs(&b, r->trailers, r->trailer_count);
		buf_text(&b, "\r\n");
		if (b.error && !out->error)
			out->error = b.error;
		outqueue_copy(out, buf_view(&b));
	}
	buf_release(&b);
}

void http1_write_refusal(struct outqueue *out, int status, const char *why, const char *date)
{
	static const struct http_header headers[] = {
		{STR("Content-Type"), STR("text/plain; charset=utf-8")},
		{STR("Retry-After"), STR("1")},
	};
	bool again = status == 429 || status == 503;
	struct reply r = {.status = status,
			  .headers = headers,
			  .header_count = again ? 2 : 1,
			  .body = BUF_INIT(1024)};
	struct http1_framing framing = {.version = HTTP_1_1};

	buf_text(&r.body, why);
	buf_byte(&r.body, '\n');
	http1_write_reply(out, &r, &framing, date);
	buf_release(&r.body);
}
