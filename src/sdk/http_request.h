/*
 * Parses HTTP/1.1 request headers, as far as needed by the control server. Input is untrusted.
 */
#pragma once

#include "base/err.h"
#include "base/str.h"

struct http_request {
	struct str method, path, query;
	struct str host, origin; /* empty = not given */
	bool from_elsewhere;	 /* sent by a page of another site, according to the browser */
	struct str body;
};

enum http_progress {
	HTTP_MORE,     /* incomplete */
	HTTP_COMPLETE, /* `ret` points into the bytes */
	HTTP_WRONG,    /* invalid or unsupported */
	HTTP_TOO_LONG, /* does not fit into `room` */
};

enum http_progress http_request_read(struct str bytes, size_t room, struct http_request *ret);
/* A query parameter; empty if missing. */
struct str http_parameter(struct str query, struct str name);
