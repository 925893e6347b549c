/* Replies as HTTP/1.1. */
#pragma once

#include "net/session.h"

struct http1_framing {
	enum http_version version;
	bool head;	 /* the request was HEAD: no body */
	bool keep_alive; /* for the Connection header */
};

/* Appends the reply and takes over its body. */
void http1_write_reply(struct outqueue *out, struct reply *r, const struct http1_framing *framing,
		       const char *date);
/* A protocol error: a text message, and the connection is closed. */
void http1_write_refusal(struct outqueue *out, int status, const char *why, const char *date);
