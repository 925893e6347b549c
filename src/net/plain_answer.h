/* Incremental parser for an HTTP/1.1 response. */
#pragma once

#include "net/fetch.h"
#include "net/http1_parse.h"

struct plain_answer {
	long status; /* 0 = headers incomplete */
	int64_t retry_after;
	bool has_length, chunked;
	bool complete;
	uint64_t left; /* remaining bytes of a body with known length */
	struct http1_chunks chunks;
	struct buf head;    /* received so far */
	struct buf *body;   /* body of a successful response */
	struct buf problem; /* beginning of the body otherwise */
};

void plain_answer_init(struct plain_answer *a, struct buf *body);
void plain_answer_release(struct plain_answer *a);
/* ERR_CORRUPT: not HTTP. ERR_TOO_LARGE: more than fits into `body`. */
enum err plain_answer_add(struct plain_answer *a, struct str bytes) MUST_CHECK;
/* The peer closed the connection: ERR_TRUNCATED if the response is incomplete. */
enum err plain_answer_end(struct plain_answer *a) MUST_CHECK;
