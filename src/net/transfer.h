/*
 * Private to src/net: one libcurl request, run alone (fetch.c) or with others (fetch_group.c).
 */
#pragma once

#include "net/curl_library.h"
#include "net/fetch.h"

struct transfer {
	const struct curl_library *curl;
	const struct fetch *request;
	CURL *handle;
	struct buf *body;
	size_t before;	    /* bytes in it at the start */
	struct buf problem; /* beginning of the body of an HTTP error */
	struct curl_slist *headers;
	size_t *shared;	    /* bytes held by all of a group, or NULL */
	size_t shared_most; /* and its limit */
	bool too_large;
	enum err file_error; /* error of writing to the request's file */
	char error[CURL_ERROR_SIZE];
};

/* Sets up the handle. The request and the body must not move. */
enum err transfer_begin(struct transfer *t, const struct fetch *request, struct buf *body,
			struct fault *fault) MUST_CHECK;
/* The result, after libcurl has finished; on failure the body is unchanged. */
enum err transfer_end(struct transfer *t, CURLcode code, struct fault *fault) MUST_CHECK;
/* Also for one whose setup failed. */
void transfer_release(struct transfer *t);
/* "HTTP status 404: profile not found", with the first line of the response body. */
enum err transfer_status_fault(long status, struct str body, struct fault *fault);
