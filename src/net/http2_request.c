/*
 * Requests: header fields become an exchange, DATA frames its body.
 *
 * Headers are first collected in buffers of the session, which all streams share because header
 * blocks are never interleaved, and then stored in one block after the exchange.
 */
#include "net/http2.h"

#define FIELD_COST    32 /* RFC 9113, 6.5.2: a field counts for more than its bytes */
#define FIELDS_MAX    1000
#define HEAD_PATIENCE 16	  /* a head so many times too large is no accident */
#define UNREAD_MAX    (64u << 20) /* costs nothing but time, and that has a bound of its own */
#define BODIES_ALONE  2 /* maximum number of full-size bodies in progress per connection */

static int on_begin_headers(nghttp2_session *ng, const nghttp2_frame *frame, void *context)
{
	struct http2 *h = context;

	(void)ng;
	h->head_stream = frame->hd.stream_id;
	buf_clear(&h->head_text);
	h->head_fields.n = 0;
	h->head_size = 0;
	h->head_deadline_ns = h->base.shared->now_ns + h->base.shared->options->head_timeout_ns;
	return 0;
}

/* A field is kept when the head has room for it; the peer hears of it when the head is complete. */
static int on_header(nghttp2_session *ng, const nghttp2_frame *frame, const uint8_t *name,
		     size_t name_n, const uint8_t *value, size_t value_n, uint8_t flags,
		     void *context)
{
	struct http2 *h = context;
	size_t max = h->base.shared->options->max_head;

	(void)ng, (void)flags;
	h->head_size += name_n + value_n + FIELD_COST;
	if (h->head_size > max * HEAD_PATIENCE) {
		counter_add(&h->base.shared->counters.protocol_errors, 1);
		http2_terminate(h, NGHTTP2_ENHANCE_YOUR_CALM);
		return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
	}
	if (h->head_size > max || frame->headers.cat != NGHTTP2_HCAT_REQUEST)
		return 0;
	if (h->head_fields.n == FIELDS_MAX) {
		h->head_size = max + 1;
		return 0;
	}
	buf_append(&h->head_text, name, name_n);
	buf_append(&h->head_text, value, value_n);
	if (buf_error(&h->head_text) ||
	    vec_push(&h->head_fields, ((struct http2_field){(uint32_t)name_n, (uint32_t)value_n})))
		return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
	return 0;
}

static void take_pseudo(struct http_exchange *x, struct str name, struct str value)
{
	if (str_eq(name, STR(":method"))) {
		x->method = value;
	} else if (str_eq(name, STR(":authority"))) {
		x->authority = value;
	} else if (str_eq(name, STR(":path"))) {
		size_t mark = str_find(value, '?');

		x->path = str_n(value.p, mark);
		x->query = str_skip(value, mark + 1);
	}
}

/* `room` holds the stream, then the headers, then their bytes. */
static void fill(const struct http2 *h, struct exchange *x, char *room)
{
	struct http_header *headers = (struct http_header *)(room + sizeof(struct http2_stream));
	char *at = (char *)(headers + h->head_fields.n);
	size_t count = 0;

	if (h->head_text.n)
		memcpy(at, h->head_text.data, h->head_text.n);
	vec_for_each (field, &h->head_fields) {
		struct str name = {at, field->name}, value = {at + field->name, field->value};

		if (name.n && name.p[0] == ':')
			take_pseudo(&x->http, name, value);
		else
			headers[count++] = (struct http_header){name, value};
		at += name.n + value.n;
	}
	x->http.version = HTTP_2;
	x->http.headers = headers;
	x->http.header_count = count;
	if (!x->http.authority.n)
		x->http.authority = http_find(&x->http, STR("host"));
}

static struct exchange *new_exchange(struct http2 *h, int32_t id)
{
	size_t size = sizeof(struct http2_stream) + h->head_fields.n * sizeof(struct http_header) +
		      h->head_text.n;
	void *room;
	struct exchange *x = exchange_new(&h->base, size, &room);

	if (!x)
		return NULL;
	x->stream = room;
	*http2_stream_of(x) = (struct http2_stream){.id = id};
	fill(h, x, room);
	if (nghttp2_session_set_stream_user_data(h->ng, id, x)) {
		exchange_drop(x);
		return NULL;
	}
	h->streams++;
	return x;
}

/* The length that the client promises, 0 when it does not; nghttp2 holds it to its word. */
static uint64_t promised(const struct exchange *x)
{
	struct str text = http_find(&x->http, STR("content-length"));
	uint64_t length;

	return text.n && str_to_u64(text, 10, &length) == ERR_OK ? length : 0;
}

static void begin_body(struct http2 *h, struct exchange *x)
{
	static const nghttp2_nv go_on = {(uint8_t *)":status", (uint8_t *)"100", 7, 3,
					 NGHTTP2_NV_FLAG_NONE};
	int64_t deadline = http2_body_deadline(x);

	if (promised(x) > x->http.max_body) {
		http2_refuse(h, x, 413, "8", "the body is larger than this server accepts\n");
		return;
	}
	if (deadline < h->bodies_deadline_ns)
		h->bodies_deadline_ns = deadline;
	if (str_eq(http_find(&x->http, STR("expect")), STR("100-continue")) &&
	    nghttp2_submit_headers(h->ng, NGHTTP2_FLAG_NONE, http2_stream_of(x)->id, NULL, &go_on,
				   1, NULL))
		h->base.closing = true;
}

void http2_head_end(struct http2 *h, const nghttp2_frame *frame)
{
	struct exchange *x;

	h->head_deadline_ns = SESSION_NEVER;
	if (frame->headers.cat != NGHTTP2_HCAT_REQUEST)
		return;
	if (h->head_size > h->base.shared->options->max_head) {
		buf_clear(&h->head_text);
		h->head_fields.n = 0;
	}
	x = new_exchange(h, frame->hd.stream_id);
	if (!x)
		http2_reset(h, frame->hd.stream_id, NGHTTP2_INTERNAL_ERROR);
	else if (h->head_size > h->base.shared->options->max_head)
		http2_refuse(h, x, 431, "8", "the headers are larger than this server accepts\n");
	else if (exchange_admit(x) && !(frame->hd.flags & NGHTTP2_FLAG_END_STREAM))
		begin_body(h, x);
}

static void throw_away(struct http2 *h, struct exchange *x, size_t n)
{
	struct http2_stream *stream = http2_stream_of(x);

	stream->unread += n;
	if (stream->said && stream->unread > UNREAD_MAX)
		http2_end_early(h, x);
}

/* The reply comes from those who know what kind of client this is; until then, and after it, the
 * rest of the body is thrown away. */
static void refuse_body(struct http2 *h, struct exchange *x, enum err e)
{
	h->body_bytes -= x->body.n;
	http2_stream_of(x)->refused = true;
	if (e == ERR_BUSY && exchange_refuse(x, e))
		return;
	buf_release(&x->body);
	http2_refuse(h, x, e == ERR_BUSY ? 429 : 503, "8", "out of memory\n");
}

static int on_data(nghttp2_session *ng, uint8_t flags, int32_t id, const uint8_t *data, size_t n,
		   void *context)
{
	struct http2 *h = context;
	struct exchange *x = nghttp2_session_get_stream_user_data(ng, id);
	enum err e;

	(void)flags;
	if (!x)
		return 0;
	if (!x->admitted || http2_stream_of(x)->answered || http2_stream_of(x)->refused) {
		throw_away(h, x, n);
		return 0;
	}
	if (n > x->http.max_body || x->body.n > x->http.max_body - n) {
		http2_refuse(h, x, 413, "8", "the body is larger than this server accepts\n");
		return 0;
	}
	if (h->body_bytes + n > BODIES_ALONE * h->base.shared->options->max_body) {
		http2_refuse(h, x, 429, "14", "too many large bodies on one connection\n");
		return 0;
	}
	e = exchange_body(x, str_n(data, n));
	if (e == ERR_OK)
		h->body_bytes += n;
	else
		refuse_body(h, x, e);
	return 0;
}

void http2_request_end(struct http2 *h, int32_t id)
{
	struct exchange *x = nghttp2_session_get_stream_user_data(h->ng, id);

	if (!x)
		return;
	http2_stream_of(x)->complete = true;
	if (x->admitted && !http2_stream_of(x)->answered && !http2_stream_of(x)->refused)
		exchange_handle(x);
}

static int on_stream_close(nghttp2_session *ng, int32_t id, uint32_t code, void *context)
{
	struct http2 *h = context;
	struct exchange *x = nghttp2_session_get_stream_user_data(ng, id);

	if (code != NGHTTP2_NO_ERROR)
		http2_count_reset(h);
	h->quiet_since_ns = h->base.shared->now_ns;
	/* The head was not valid: nothing else says that it has ended. */
	if (id == h->head_stream)
		h->head_deadline_ns = SESSION_NEVER;
	if (!x)
		return 0;
	h->streams--;
	h->answering -= http2_stream_of(x)->answered;
	h->body_bytes -= x->body.n;
	exchange_drop(x);
	return 0;
}

void http2_request_callbacks(nghttp2_session_callbacks *callbacks)
{
	nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, on_begin_headers);
	nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
	nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_stream_close);
}
