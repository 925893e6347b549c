/*
 * HTTP/1.x requests as bytes (RFC 9112), taken strictly: what two programs could read differently
 * is refused, because a proxy before us may have read it the other way (request smuggling).
 */
#pragma once

#include "net/http.h"

#define HTTP1_MAX_HEADERS 128

struct http1_head {
	enum http_version version;
	struct str method, path, query, authority;
	struct http_header *headers; /* given by the caller */
	size_t header_count;
	bool chunked;
	bool has_length;
	uint64_t length; /* of the body, when has_length */
	bool keep_alive;
	bool expects_continue;
};

/* Why a request is refused: the status and a sentence for its sender. */
struct http1_refusal {
	int status;
	const char *why;
};

enum http1_progress { HTTP1_MORE, HTTP1_DONE, HTTP1_REFUSED };

/*
 * Looks for the empty line that ends a head. `*scanned` is how far earlier calls got; on HTTP1_DONE
 * it is the length of the head, empty line included.
 */
enum http1_progress http1_find_end(struct str bytes, size_t *scanned,
				   struct http1_refusal *refusal);
/* How many headers a complete head may have, at most HTTP1_MAX_HEADERS: room to have ready. */
size_t http1_count_headers(struct str bytes);
/*
 * Reads a complete head. Names become lower case in place; slices of `ret` point into `bytes`, and
 * `headers` has room for http1_count_headers(). HTTP1_DONE or HTTP1_REFUSED.
 */
enum http1_progress http1_parse_head(char *bytes, size_t n, struct http_header *headers,
				     struct http1_head *ret, struct http1_refusal *refusal);

/* The chunked coding, byte by byte; all zero is the beginning. */
struct http1_chunks {
	unsigned state;
	uint64_t left;	/* of the chunk */
	unsigned line;	/* bytes of the line at hand */
	unsigned extra; /* bytes of extensions and trailers so far */
};

/*
 * Takes bytes from `*input`. HTTP1_MORE with a `*ret_data` that is not empty: a piece of the body,
 * call again; with an empty one: all input is used. HTTP1_DONE: the body is complete, what is left
 * in `*input` comes after it.
 */
enum http1_progress http1_chunks_next(struct http1_chunks *c, struct str *input,
				      struct str *ret_data, struct http1_refusal *refusal);

/* Characters of names and methods. */
bool http1_is_token(struct str text);
/* Visible characters, blanks and bytes above 127: no line ends, no NUL. */
bool http1_is_value(struct str text);
