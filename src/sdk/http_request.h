/*
 * The head of a request, as little of HTTP/1.1 as the control needs. Bytes are a stranger's.
 */
#pragma once

#include "base/err.h"
#include "base/str.h"

struct http_request {
	struct str method, path, query;
	struct str host, origin; /* empty = not said */
	bool from_elsewhere;	 /* a browser says that another site's page asks */
	struct str body;
};

enum http_progress {
	HTTP_MORE,     /* not whole yet */
	HTTP_COMPLETE, /* `ret` points into the bytes */
	HTTP_WRONG,    /* no request, or one that is not understood */
	HTTP_TOO_LONG, /* does not fit into `room` */
};

enum http_progress http_request_read(struct str bytes, size_t room, struct http_request *ret);
/* A parameter of the query; empty when it is not there. */
struct str http_parameter(struct str query, struct str name);
