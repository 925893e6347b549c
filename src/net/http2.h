/*
 * The HTTP/2 session: nghttp2 knows frames, header compression and flow control; here are requests,
 * replies, limits and time.
 *
 *	http2.c           the session: input, output, deadlines, the end
 *	http2_request.c   what nghttp2 reports: a head, a body, the end of a stream
 *	http2_reply.c     replies, also those the session gives by itself
 */
#pragma once

#include <nghttp2/nghttp2.h>

#include "base/vec.h"
#include "net/session.h"

/* A body is accepted as fast as it comes, so windows only hide the way to the sender. */
#define HTTP2_STREAM_WINDOW	(4 << 20)
#define HTTP2_CONNECTION_WINDOW (16 << 20)
#define HTTP2_MEMORY		(32 << 10) /* of nghttp2 for a session, about */

struct http2_field {
	uint32_t name, value; /* lengths; the bytes follow each other in head_text */
};

struct http2 {
	struct session base;
	nghttp2_session *ng;

	/* The head that is arriving: one at a time, whatever the number of streams. */
	struct buf head_text;
	VEC(struct http2_field) head_fields;
	size_t head_size; /* as RFC 9113 counts, also of what was not kept */
	int32_t head_stream;
	int64_t head_deadline_ns;   /* SESSION_NEVER: none is arriving */
	int64_t bodies_deadline_ns; /* when the slowest body has to be looked at */
	int64_t quiet_since_ns;	    /* last sign of life: a stream's end, bytes of a reply taken */
	int64_t reset_credit_ns;    /* resets are paid for: now, when none is owed */
	int64_t drain_deadline_ns;
	uint64_t answered_bytes; /* of replies that the peer took, on all streams */

	uint32_t streams;   /* open, with an exchange */
	uint32_t answering; /* those of them whose reply is on its way */
	size_t body_bytes;  /* of all of them */
	bool settings_seen; /* the peer has said its first word */
	bool input_ended;
	bool draining;
};

/* What the session keeps with an exchange. */
struct http2_stream {
	int32_t id;
	bool complete; /* the request is */
	bool refused;  /* the rest of the request is not wanted; a reply will come */
	bool answered; /* a reply was submitted */
	bool said;     /* and is sent, while the request still comes */
	size_t sent;   /* of the reply's body */
	size_t unread; /* of the request's, thrown away */
	int64_t reset_at_ns;
	int64_t answered_ns;	 /* when the reply was submitted, */
	uint64_t answered_after; /* and how much the peer had taken before */
	int64_t taken_ns;	 /* when the peer last took some of the reply */
};

static inline struct http2_stream *http2_stream_of(const struct exchange *x)
{
	return x->stream;
}

void http2_request_callbacks(nghttp2_session_callbacks *callbacks);
/* A head, or trailers, are complete; the stream's last frame came. */
void http2_head_end(struct http2 *h, const nghttp2_frame *frame);
void http2_request_end(struct http2 *h, int32_t id);
void http2_reply_callbacks(nghttp2_session_callbacks *callbacks);

/* Submits x->reply. */
void http2_reply(struct http2 *h, struct exchange *x);
/* The session's own answer; gRPC clients are told in their way. Takes no more of the body. */
void http2_refuse(struct http2 *h, struct exchange *x, int status, const char *grpc_status,
		  const char *text);
/* No new streams; ends when those under way have. */
void http2_drain(struct http2 *h);
/* Ends one stream, or the connection with a GOAWAY that says why. */
void http2_reset(struct http2 *h, int32_t id, uint32_t code);
void http2_terminate(struct http2 *h, uint32_t code);
/* Another stream ended badly: a client that does little else is sent away. */
void http2_count_reset(struct http2 *h);
/* The reply is sent and the request is not complete: the peer is given a while to notice. */
void http2_said_early(struct http2 *h, struct exchange *x);
void http2_end_early(struct http2 *h, struct exchange *x);
/* Makes sure that this stream is looked at when its time is over. */
void http2_look_again(struct http2 *h, const struct exchange *x);
/* When this body is behind the least rate that is accepted. */
int64_t http2_body_deadline(const struct exchange *x);
