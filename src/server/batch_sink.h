/*
 * Connects a receiver to a batch of the store.
 */
#pragma once

#include "pipeline/pipeline.h"
#include "server/server_internal.h"

/* Sets sink, limits and time of a receiver. The batch must outlive it. */
void receive_into_batch(struct receive *r, const struct server *s, struct store_batch *batch);
/* Commits and waits until it is durable; for threads that may block. */
enum err batch_commit(struct store_batch *batch, struct fault *fault) MUST_CHECK;
