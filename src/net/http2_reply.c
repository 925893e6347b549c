/*
 * Replies. A body stays with its exchange and goes into the queue of the connection frame by frame,
 * as the peer's window and the socket take it.
 */
#include <stdio.h>
#include <strings.h>

#include "net/http1_parse.h"
#include "net/http2.h"

#define HEADERS_MAX 256

static nghttp2_nv pair(struct str name, struct str value)
{
	return (nghttp2_nv){(uint8_t *)(uintptr_t)name.p, (uint8_t *)(uintptr_t)value.p, name.n,
			    value.n, NGHTTP2_NV_FLAG_NONE};
}

/* Headers of HTTP/1.1 connections, or that the session sets itself. */
static bool is_framing(struct str name)
{
	static const struct str ours[] = {STR("connection"), STR("content-length"),
					  STR("date"),	     STR("keep-alive"),
					  STR("server"),     STR("te"),
					  STR("trailer"),    STR("transfer-encoding"),
					  STR("upgrade")};

	for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++)
		if (name.n == ours[i].n && strncasecmp(name.p, ours[i].p, name.n) == 0)
			return true;
	return false;
}

/* nghttp2 writes names in lower case, as they have to be. */
static bool is_sendable(const struct http_header *h)
{
	return http1_is_token(h->name) && http1_is_value(h->value) && !is_framing(h->name);
}

static size_t add_pairs(nghttp2_nv *to, size_t at, const struct http_header *headers, size_t count)
{
	for (size_t i = 0; i < count && at < HEADERS_MAX; i++)
		if (is_sendable(&headers[i]))
			to[at++] = pair(headers[i].name, headers[i].value);
	return at;
}

static struct str body_of(const struct exchange *x)
{
	return x->reply.static_body.p ? x->reply.static_body : buf_view(&x->reply.body);
}

static bool has_body(const struct exchange *x)
{
	int status = x->reply.status;

	return !x->reply.head_only && !str_eq(x->http.method, STR("HEAD")) && status != 204 &&
	       status != 304 && (body_of(x).n || x->reply.trailer_count);
}

static ssize_t read_body(nghttp2_session *ng, int32_t id, uint8_t *room, size_t n, uint32_t *flags,
			 nghttp2_data_source *source, void *context)
{
	struct exchange *x = source->ptr;
	struct http2_stream *stream = http2_stream_of(x);
	size_t left = body_of(x).n - stream->sent;
	nghttp2_nv trailers[HEADERS_MAX];
	size_t count;

	(void)room, (void)context;
	*flags |= NGHTTP2_DATA_FLAG_NO_COPY;
	if (left > n)
		return (ssize_t)n;
	*flags |= NGHTTP2_DATA_FLAG_EOF;
	if (x->reply.trailer_count) {
		*flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
		count = add_pairs(trailers, 0, x->reply.trailers, x->reply.trailer_count);
		if (nghttp2_submit_trailer(ng, id, trailers, count))
			return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
	}
	return (ssize_t)left;
}

/* A DATA frame is due: its head and its bytes, straight into the queue. */
static int send_body(nghttp2_session *ng, nghttp2_frame *frame, const uint8_t *head, size_t n,
		     nghttp2_data_source *source, void *context)
{
	struct http2 *h = context;
	struct exchange *x = source->ptr;
	struct http2_stream *stream = http2_stream_of(x);
	struct str bytes = {n ? body_of(x).p + stream->sent : NULL, n};

	(void)ng, (void)frame;
	outqueue_copy(&h->base.out, str_n(head, 9));
	if (x->reply.static_body.p)
		outqueue_static(&h->base.out, bytes);
	else
		outqueue_copy(&h->base.out, bytes);
	stream->sent += n;
	stream->taken_ns = h->base.shared->now_ns;
	h->answered_bytes += n;
	return h->base.out.error ? NGHTTP2_ERR_CALLBACK_FAILURE : 0;
}

static int on_frame_send(nghttp2_session *ng, const nghttp2_frame *frame, void *context)
{
	int32_t id = frame->hd.stream_id;
	struct exchange *x = nghttp2_session_get_stream_user_data(ng, id);
	bool carries_end = frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA;

	if (x && carries_end && frame->hd.flags & NGHTTP2_FLAG_END_STREAM &&
	    nghttp2_session_get_stream_remote_close(ng, id) == 0)
		http2_said_early(context, x);
	return 0;
}

void http2_reply(struct http2 *h, struct exchange *x)
{
	struct http2_stream *stream = http2_stream_of(x);
	const struct reply *r = &x->reply;
	nghttp2_data_provider body = {.source = {.ptr = x}, .read_callback = read_body};
	nghttp2_nv pairs[HEADERS_MAX + 5];
	char status[16], length[24];
	size_t n = 0;

	if (stream->answered)
		return;
	if (r->status < 200 || r->status > 999) {
		http2_reset(h, stream->id, NGHTTP2_INTERNAL_ERROR);
		return;
	}
	pairs[n++] = pair(STR(":status"),
			  str_n(status, (size_t)snprintf(status, sizeof(status), "%d", r->status)));
	n = add_pairs(pairs, n, r->headers, r->header_count);
	if (!r->trailer_count && r->status != 204 && r->status != 304)
		pairs[n++] = pair(STR("content-length"),
				  str_n(length, (size_t)snprintf(length, sizeof(length), "%zu",
								 body_of(x).n)));
	pairs[n++] = pair(STR("server"), STR("vestal"));
	pairs[n++] = pair(STR("date"), str_of(h->base.shared->date));
	if (r->timing[0])
		pairs[n++] = pair(STR("server-timing"), str_of(r->timing));
	stream->answered = true;
	stream->answered_ns = stream->taken_ns = h->base.shared->now_ns;
	stream->answered_after = h->answered_bytes;
	h->answering++;
	h->quiet_since_ns = h->base.shared->now_ns;
	http2_look_again(h, x);
	if (nghttp2_submit_response(h->ng, stream->id, pairs, n, has_body(x) ? &body : NULL))
		http2_reset(h, stream->id, NGHTTP2_INTERNAL_ERROR);
	if (r->close)
		http2_drain(h);
}

void http2_refuse(struct http2 *h, struct exchange *x, int status, const char *grpc_status,
		  const char *text)
{
	static const struct http_header plain = {STR("content-type"),
						 STR("text/plain; charset=utf-8")};
	struct str type = http_find(&x->http, STR("content-type"));
	struct http_header grpc[] = {{STR("content-type"), type},
				     {STR("grpc-status"), str_of(grpc_status)},
				     {STR("grpc-message"), str_trim(str_of(text))}};

	/* This is the only reply. Names and values are copied by submitting. */
	x->reply = (struct reply){.status = status, .headers = &plain, .header_count = 1};
	if (str_starts(type, STR("application/grpc"))) {
		x->reply.status = 200;
		x->reply.headers = grpc;
		x->reply.header_count = 3;
	} else {
		x->reply.static_body = str_of(text);
	}
	counter_add(&h->base.shared->counters.refused, 1);
	http2_reply(h, x);
	x->reply.headers = NULL;
	x->reply.header_count = 0;
}

void http2_reply_callbacks(nghttp2_session_callbacks *callbacks)
{
	nghttp2_session_callbacks_set_send_data_callback(callbacks, send_body);
	nghttp2_session_callbacks_set_on_frame_send_callback(callbacks, on_frame_send);
}
