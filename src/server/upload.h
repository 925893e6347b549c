/*
 * What comes in: a request becomes one batch of the store, and its reply waits until that is
 * durable.
 */
#pragma once

#include "pipeline/pipeline.h"
#include "server/request.h"

/* One request under way, in its exchange's arena. */
struct upload {
	struct request *request;
	struct receive receive;
	struct store_batch *batch;
	struct buf plain; /* the body, when it had to be inflated */
	struct str body;
	int64_t started_ns, decoded_ns;
	/* Called when everything is durable: tells the client, in its words. */
	void (*reply)(struct upload *u);
};

/* Makes the upload and its batch; NULL: it has replied. */
struct upload *upload_begin(struct request *r, void (*reply)(struct upload *u));
/* What the receiver said: commits the batch, or throws it away and fails the request. */
void upload_end(struct upload *u, enum err error, const struct fault *fault);
