/*
 * Strict parser for HTTP/1.x requests (RFC 9112): ambiguous requests are refused, because a proxy
 * may interpret them differently (request smuggling).
 */
#pragma once

#include "net/http.h"

#define HTTP1_MAX_HEADERS 128

struct http1_head {
	enum http_version version;
	struct str method, path, query, authority;
	struct http_header *headers; /* array of the caller */
	size_t header_count;
	bool chunked;
	bool has_length;
	uint64_t length; /* of the body, when has_length */
	bool keep_alive;
	bool expects_continue;
};

/* Why a request is refused: status and message. */
struct http1_refusal {
	int status;
	const char *why;
};

enum http1_progress { HTTP1_MORE, HTTP1_DONE, HTTP1_REFUSED };

/*
 * Searches for the empty line after the headers. `*scanned` is the progress of earlier calls; on
 * HTTP1_DONE the length of the head, including the empty line.
 */
enum http1_progress http1_find_end(struct str bytes, size_t *scanned,
				   struct http1_refusal *refusal);
/* An upper bound on the number of headers of a complete head, at most HTTP1_MAX_HEADERS. */
size_t http1_count_headers(struct str bytes);
/*
 * Parses a complete head. Converts names to lower case in place; slices of `ret` point into
 * `bytes`, and `headers` has room for http1_count_headers(). HTTP1_DONE or HTTP1_REFUSED.
 */
enum http1_progress http1_parse_head(char *bytes, size_t n, struct http_header *headers,
				     struct http1_head *ret, struct http1_refusal *refusal);

/* State of the chunked decoder; all zero is the initial state. */
struct http1_chunks {
	unsigned state;
	uint64_t left;	/* of the chunk */
	unsigned line;	/* bytes of the current line */
	unsigned extra; /* bytes of extensions and trailers so far */
};

/*
 * Consumes bytes from `*input`. HTTP1_MORE with non-empty `*ret_data`: a piece of the body, call
 * again; with empty `*ret_data`: all input is consumed. HTTP1_DONE: the body is complete, `*input`
 * has the bytes after it.
 */
enum http1_progress http1_chunks_next(struct http1_chunks *c, struct str *input,
				      struct str *ret_data, struct http1_refusal *refusal);

/* Characters of names and methods. */
bool http1_is_token(struct str text);
/* Visible characters, blanks and bytes above 127: no line ends, no NUL. */
bool http1_is_value(struct str text);
