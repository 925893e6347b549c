/*
 * Sends encoded requests to an OTLP endpoint, in a thread of its own. While the server answers they
 * go from memory; what cannot be delivered goes into the queue (on disk, when it has a directory)
 * and is sent from there, oldest first, when the server is back. A server that asks to wait is
 * waited for; what it refuses for good is dropped. All of it is counted.
 */
#pragma once

#include "agent/endpoint.h"
#include "queue/queue.h"

struct exporter;

struct exporter_options {
	struct endpoint_options endpoint;
	size_t waiting_bytes; /* in memory on the way to the thread, at most */
	struct queue_options queue;
	bool queue_optional; /* when its directory cannot be used: memory, and a warning */
};

enum err exporter_new(const struct exporter_options *o, struct exporter **ret,
		      struct fault *fault) MUST_CHECK;
/* Tries once more to deliver what waits, for `patience_ns` at most; the rest stays on disk. */
void exporter_free(struct exporter *x, int64_t patience_ns);
/* Takes the bytes (plain OTLP); the buffer is empty afterwards. */
void exporter_send(struct exporter *x, struct buf *bytes);

/* What requests say of this agent from now on, as a header: "Name: value", of less than
 * EXPORTER_ABOUT bytes. */
#define EXPORTER_ABOUT 512
void exporter_describe(struct exporter *x, const char *header);

struct exporter_stats {
	uint64_t sent, failed, bytes;
	uint64_t refused;	    /* requests the server will never take; in `dropped` too */
	uint64_t rejected_profiles; /* of requests it took */
	uint64_t dropped;	    /* requests lost for any reason */
	uint64_t samples_refused,
		samples_dropped; /* in requests refused; in those of a full queue */
	uint64_t waiting_bytes;	 /* in memory, on the way to the thread or in the queue */
	struct queue_stats queue;
	char last_fault[400]; /* empty = the last one was delivered */
};

void exporter_stats(struct exporter *x, struct exporter_stats *ret);
