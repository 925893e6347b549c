/*
 * Shared by http1_request.c, which parses requests, and http1.c, which sends replies and manages
 * the connection.
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
	struct buf kept;    /* unprocessed input: incomplete headers, later requests */
	size_t scanned;	    /* progress in incomplete headers */
	struct exchange *x; /* in BODY and WAIT */
	struct http1_framing framing;
	bool chunked;
	struct http1_chunks chunks;
	uint64_t
		left; /* remaining bytes of a body with known length, or to discard after the reply */
	int64_t head_since_ns, body_since_ns;
	uint64_t body_received; /* bytes received, including framing */
	bool unread; /* the body of a refused request is not read: the connection must be closed */
	bool input_ended;
	bool draining;
};

/* Closes the connection after sending the queued bytes. `linger`: the peer may still be sending. */
void http1_over(struct http1 *h, bool linger);
/* Sends an error, and closes. */
void http1_refuse(struct http1 *h, int status, const char *why);
/* Ready for the next request. */
void http1_expect_head(struct http1 *h);
/* Whether BODY or DISCARD expects more bytes or chunks. */
void http1_begin_body(struct http1 *h, enum http1_state state);
/* Processes as much input as possible. */
enum err http1_advance(struct http1 *h, struct str *input) MUST_CHECK;
