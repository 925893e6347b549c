/*
 * An HTTP/2 client of nghttp2 that talks to a session through session_driver.h, without sockets.
 * Unit tests and the fuzz target's corpus are made with it.
 */
#pragma once

#include <nghttp2/nghttp2.h>

#include "net/session_driver.h"

#define CLIENT_STREAMS 512

struct client_stream {
	int32_t id;
	int status;
	struct buf headers;  /* "name: value\n" of the final reply */
	struct buf trailers; /* the same */
	struct buf body;
	bool ended, closed, continued;
	uint32_t reset;
	struct str upload; /* what is still to be sent */
	bool hold;	   /* the upload does not end with its bytes */
};

struct http2_client {
	nghttp2_session *ng;
	struct driver *driver;
	struct client_stream streams[CLIENT_STREAMS];
	size_t n;
	bool goaway;
	uint32_t goaway_code;
	size_t step; /* bytes given to the session at a time, 0 = all */
};

static inline struct client_stream *client_stream(struct http2_client *c, int32_t id)
{
	for (size_t i = 0; i < c->n; i++)
		if (c->streams[i].id == id)
			return &c->streams[i];
	return NULL;
}

static inline int client_on_header(nghttp2_session *ng, const nghttp2_frame *frame,
				   const uint8_t *name, size_t name_n, const uint8_t *value,
				   size_t value_n, uint8_t flags, void *context)
{
	struct client_stream *s = client_stream(context, frame->hd.stream_id);
	uint64_t status = 0;

	(void)ng, (void)flags;
	if (!s)
		return 0;
	if (name_n == 7 && memcmp(name, ":status", 7) == 0 &&
	    str_to_u64(str_n(value, value_n), 10, &status) == ERR_OK) {
		s->continued = s->continued || status == 100;
		s->status = (int)status;
		return 0;
	}
	buf_printf(frame->headers.cat == NGHTTP2_HCAT_HEADERS && s->status >= 200 && s->headers.n
			   ? &s->trailers
			   : &s->headers,
		   "%.*s: %.*s\n", (int)name_n, (const char *)name, (int)value_n,
		   (const char *)value);
	return 0;
}

static inline int client_on_data(nghttp2_session *ng, uint8_t flags, int32_t id,
				 const uint8_t *data, size_t n, void *context)
{
	struct client_stream *s = client_stream(context, id);

	(void)ng, (void)flags;
	if (s)
		buf_append(&s->body, data, n);
	return 0;
}

static inline int client_on_frame(nghttp2_session *ng, const nghttp2_frame *frame, void *context)
{
	struct http2_client *c = context;
	struct client_stream *s = client_stream(c, frame->hd.stream_id);

	(void)ng;
	if (frame->hd.type == NGHTTP2_GOAWAY) {
		c->goaway = true;
		c->goaway_code = frame->goaway.error_code;
	}
	if (s && (frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA) &&
	    frame->hd.flags & NGHTTP2_FLAG_END_STREAM)
		s->ended = true;
	return 0;
}

static inline int client_on_close(nghttp2_session *ng, int32_t id, uint32_t code, void *context)
{
	struct client_stream *s = client_stream(context, id);

	(void)ng;
	if (s) {
		s->closed = true;
		s->reset = code;
	}
	return 0;
}

static inline ssize_t client_upload(nghttp2_session *ng, int32_t id, uint8_t *room, size_t n,
				    uint32_t *flags, nghttp2_data_source *source, void *context)
{
	struct client_stream *s = source->ptr;

	(void)ng, (void)id, (void)context;
	if (!s->upload.n && s->hold)
		return NGHTTP2_ERR_DEFERRED;
	if (n > s->upload.n)
		n = s->upload.n;
	if (n)
		memcpy(room, s->upload.p, n);
	s->upload = str_skip(s->upload, n);
	if (!s->upload.n && !s->hold)
		*flags |= NGHTTP2_DATA_FLAG_EOF;
	return (ssize_t)n;
}

static inline void http2_client_init(struct http2_client *c, struct driver *d)
{
	nghttp2_session_callbacks *callbacks;
	const nghttp2_settings_entry none[] = {{NGHTTP2_SETTINGS_ENABLE_PUSH, 0}};

	*c = (struct http2_client){.driver = d};
	if (nghttp2_session_callbacks_new(&callbacks))
		return;
	nghttp2_session_callbacks_set_on_header_callback(callbacks, client_on_header);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, client_on_data);
	nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, client_on_frame);
	nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, client_on_close);
	if (nghttp2_session_client_new(&c->ng, callbacks, c) == 0)
		nghttp2_submit_settings(c->ng, NGHTTP2_FLAG_NONE, none, 1);
	nghttp2_session_callbacks_del(callbacks);
}

static inline void http2_client_release(struct http2_client *c)
{
	nghttp2_session_del(c->ng);
	for (size_t i = 0; i < c->n; i++) {
		buf_release(&c->streams[i].headers);
		buf_release(&c->streams[i].trailers);
		buf_release(&c->streams[i].body);
	}
}

/* `more` has "name: value\n" lines. */
static inline struct client_stream *http2_client_ask(struct http2_client *c, const char *method,
						     const char *path, const char *more,
						     struct str upload, bool hold)
{
	struct client_stream *s = &c->streams[c->n++];
	nghttp2_data_provider body = {.source = {.ptr = s}, .read_callback = client_upload};
	struct str pairs[64][2] = {{STR(":method"), str_of(method)},
				   {STR(":scheme"), STR("http")},
				   {STR(":authority"), STR("test.example")},
				   {STR(":path"), str_of(path)}};
	struct str rest = str_of(more), line;
	nghttp2_nv nv[64];
	size_t n = 4;

	while (str_split(&rest, '\n', &line)) {
		size_t colon = str_find(line, ':');

		pairs[n][0] = str_n(line.p, colon);
		pairs[n++][1] = str_trim(str_skip(line, colon + 1));
	}
	for (size_t i = 0; i < n; i++)
		nv[i] = (nghttp2_nv){(uint8_t *)(uintptr_t)pairs[i][0].p,
				     (uint8_t *)(uintptr_t)pairs[i][1].p, pairs[i][0].n,
				     pairs[i][1].n, 0};
	*s = (struct client_stream){.headers = BUF_INIT(1 << 20),
				    .trailers = BUF_INIT(1 << 20),
				    .body = BUF_INIT(SIZE_MAX),
				    .upload = upload,
				    .hold = hold};
	s->id = nghttp2_submit_request(c->ng, NULL, nv, n, upload.n || hold ? &body : NULL, s);
	return s;
}

/* Lets both talk until neither has anything to say. */
static inline void http2_client_run(struct http2_client *c)
{
	struct driver *d = c->driver;
	bool moved = true;

	while (moved && !d->error) {
		const uint8_t *bytes;
		ssize_t n = nghttp2_session_mem_send(c->ng, &bytes);

		moved = n > 0;
		for (ssize_t at = 0; at < n; at += (ssize_t)(c->step ? c->step : (size_t)n)) {
			size_t piece =
				c->step && c->step < (size_t)(n - at) ? c->step : (size_t)(n - at);

			driver_input(d, str_n(bytes + at, piece));
		}
		driver_turn(d);
		if (d->sent.n) {
			moved = true;
			if (nghttp2_session_mem_recv(c->ng, (const uint8_t *)d->sent.data,
						     d->sent.n) < 0)
				return;
			buf_clear(&d->sent);
		}
	}
}
