/*
 * Uploads: a request becomes one batch of the store, and the reply is sent when that is durable.
 */
#pragma once

#include "pipeline/pipeline.h"
#include "server/request.h"

/* An upload, in its exchange's arena. */
struct upload {
	struct request *request;
	struct receive receive;
	struct store_batch *batch;
	struct buf plain; /* the body, if it was compressed */
	struct str body;
	int64_t started_ns, decoded_ns;
	/* Called when everything is durable: replies in the client's format. */
	void (*reply)(struct upload *u);
};

/* Creates the upload and its batch; NULL: it has replied. */
struct upload *upload_begin(struct request *r, void (*reply)(struct upload *u));
/* Call with the receiver's result: commits the batch, or drops it and fails the request. */
void upload_end(struct upload *u, enum err error, const struct fault *fault);
