/*
 * A receiver that fills a batch of the store.
 */
#pragma once

#include "pipeline/pipeline.h"
#include "server/server_internal.h"

/* Sink, limits and the time of a receiver. The batch must be there as long as it works. */
void receive_into_batch(struct receive *r, const struct server *s, struct store_batch *batch);
/* Commits and waits until it is durable: for threads that have the time. */
enum err batch_commit(struct store_batch *batch, struct fault *fault) MUST_CHECK;
