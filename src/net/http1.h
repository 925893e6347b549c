/*
 * What the halves of an HTTP/1.1 session share: http1_request.c takes requests out of the input,
 * http1.c sends replies and keeps the connection.
 *
 *	HEAD --head complete, admitted--> BODY --complete--> WAIT --reply--> HEAD
 *	   \--refused by admit--> WAIT --reply--> DISCARD (short body) --> HEAD, or the end
 */
#pragma once

#include "net/http1_parse.h"
#include "net/http1_write.h"
#include "net/session.h"

enum http1_state { HEAD, BODY, WAIT, DISCARD, OVER };

struct http1 {
	struct session session; /* first */
	enum http1_state state;
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

/* The connection ends when what is queued was sent. `linger`: the peer may still be sending. */
void http1_over(struct http1 *h, bool linger);
/* Says why, and ends. */
void http1_refuse(struct http1 *h, int status, const char *why);
/* Ready for the next request. */
void http1_expect_head(struct http1 *h);
/* BODY or DISCARD: `left` bytes, or chunks, are to come. */
void http1_begin_body(struct http1 *h, enum http1_state state);
/* Uses as much of the input as is possible now. */
enum err http1_advance(struct http1 *h, struct str *input) MUST_CHECK;
