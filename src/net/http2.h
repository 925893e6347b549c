/*
 * The HTTP/2 session: nghttp2 handles frames, header compression and flow control; this code
 * handles requests, replies, limits and timeouts.
 *
 *	http2.c           the session: input, output, deadlines, the end
 *	http2_request.c   what nghttp2 reports: a head, a body, the end of a stream
 *	http2_reply.c     replies, also those the session gives by itself
 */
#pragma once

#include <nghttp2/nghttp2.h>

#include "base/vec.h"
#include "net/session.h"

/* Bodies are accepted as fast as they arrive, so windows only need to cover the latency. */
#define HTTP2_STREAM_WINDOW	(4 << 20)
#define HTTP2_CONNECTION_WINDOW (16 << 20)
#define HTTP2_MEMORY		(32 << 10) /* approximate memory of nghttp2 per session */

struct http2_field {
	uint32_t name, value; /* lengths; the bytes follow each other in head_text */
};

struct http2 {
	struct session base;
	nghttp2_session *ng;

	/* The headers being received; one request at a time, even with many streams. */
	struct buf head_text;
	VEC(struct http2_field) head_fields;
	size_t head_size; /* size as defined by RFC 9113, including dropped headers */
	int32_t head_stream;
	int64_t head_deadline_ns;   /* SESSION_NEVER: none is arriving */
	int64_t bodies_deadline_ns; /* when to check the slowest body */
	int64_t quiet_since_ns; /* last activity: end of a stream, or reply bytes received by the peer */
	int64_t reset_credit_ns; /* rate limit of resets: time at which none is owed */
	int64_t drain_deadline_ns;
	uint64_t answered_bytes; /* reply bytes received by the peer, on all streams */

	uint32_t streams;   /* open, with an exchange */
	uint32_t answering; /* those of them whose reply is being sent */
	size_t body_bytes;  /* of all of them */
	bool settings_seen; /* the peer sent its preface */
	bool input_ended;
	bool draining;
};

/* Per-stream state of the session. */
struct http2_stream {
	int32_t id;
	bool complete; /* the request is */
	bool refused;  /* the rest of the request is ignored; a reply will come */
	bool answered; /* a reply was submitted */
	bool said;     /* and sent, while the request is still arriving */
	size_t sent;   /* of the reply's body */
	size_t unread; /* discarded bytes of the request body */
	int64_t reset_at_ns;
	int64_t answered_ns;	 /* when the reply was submitted, */
	uint64_t answered_after; /* and the bytes received by the peer before */
	int64_t taken_ns;	 /* when the peer last received some of the reply */
};

static inline struct http2_stream *http2_stream_of(const struct exchange *x)
{
	return x->stream;
}

void http2_request_callbacks(nghttp2_session_callbacks *callbacks);
/* Headers or trailers are complete; the stream's last frame arrived. */
void http2_head_end(struct http2 *h, const nghttp2_frame *frame);
void http2_request_end(struct http2 *h, int32_t id);
void http2_reply_callbacks(nghttp2_session_callbacks *callbacks);

/* Submits x->reply. */
void http2_reply(struct http2 *h, struct exchange *x);
/* A reply by the session itself, as gRPC status for gRPC clients. Ignores the rest of the body. */
void http2_refuse(struct http2 *h, struct exchange *x, int status, const char *grpc_status,
		  const char *text);
/* Accepts no new streams; closes when the open ones have ended. */
void http2_drain(struct http2 *h);
/* Resets one stream, or closes the connection with GOAWAY and a reason. */
void http2_reset(struct http2 *h, int32_t id, uint32_t code);
void http2_terminate(struct http2 *h, uint32_t code);
/* Counts an aborted stream; a client with too many of them is disconnected. */
void http2_count_reset(struct http2 *h);
/* The reply was sent before the end of the request: gives the peer some time to stop sending. */
void http2_said_early(struct http2 *h, struct exchange *x);
void http2_end_early(struct http2 *h, struct exchange *x);
/* Makes sure that this stream is checked at its deadline. */
void http2_look_again(struct http2 *h, const struct exchange *x);
/* When this body falls below the minimum rate. */
int64_t http2_body_deadline(const struct exchange *x);
