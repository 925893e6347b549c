/* The answer to a request over HTTP/1.1, taken from bytes as they come. */
#pragma once

#include "net/fetch.h"
#include "net/http1_parse.h"

struct plain_answer {
	long status; /* 0 = the head is not complete */
	int64_t retry_after;
	bool has_length, chunked;
	bool complete;
	uint64_t left; /* of a body whose length is known */
	struct http1_chunks chunks;
	struct buf head;    /* as far as it came */
	struct buf *body;   /* of what went well */
	struct buf problem; /* how the body began otherwise */
};

void plain_answer_init(struct plain_answer *a, struct buf *body);
void plain_answer_release(struct plain_answer *a);
/* ERR_CORRUPT: that is no HTTP. ERR_TOO_LARGE: more than there is room for in `body`. */
enum err plain_answer_add(struct plain_answer *a, struct str bytes) MUST_CHECK;
/* The other side has ended the connection: ERR_TRUNCATED when there should be more. */
enum err plain_answer_end(struct plain_answer *a) MUST_CHECK;
