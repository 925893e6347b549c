/*
 * Inside src/net: one request of libcurl, set up here and driven alone (fetch.c) or with others
 * (fetch_group.c).
 */
#pragma once

#include "net/curl_library.h"
#include "net/fetch.h"

struct transfer {
	const struct curl_library *curl;
	const struct fetch *request;
	CURL *handle;
	struct buf *body;
	size_t before;	    /* bytes in it at the beginning */
	struct buf problem; /* the beginning of the body of an HTTP error */
	struct curl_slist *headers;
	size_t *shared;	    /* bytes that all of a group hold, or NULL */
	size_t shared_most; /* and may hold */
	bool too_large;
	enum err file_error; /* of writing into the request's file */
	char error[CURL_ERROR_SIZE];
};

/* Makes the handle ready to be driven. The request and the body must stay where they are. */
enum err transfer_begin(struct transfer *t, const struct fetch *request, struct buf *body,
			struct fault *fault) MUST_CHECK;
/* What came of it, once libcurl said how it ended; on failure the body is as it was. */
enum err transfer_end(struct transfer *t, CURLcode code, struct fault *fault) MUST_CHECK;
/* A half-begun one too. */
void transfer_release(struct transfer *t);
/* "HTTP status 404: profile not found": and the first line of what the server said. */
enum err transfer_status_fault(long status, struct str body, struct fault *fault);
