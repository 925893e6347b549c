/*
 * Sends encoded requests to an OTLP endpoint, in a separate thread. Requests that cannot be
 * delivered are stored in the queue (on disk, if it has a directory) and sent from there, oldest
 * first, when the server is back. Retry delays requested by the server are honoured; permanently
 * refused requests are dropped. Everything is counted.
 */
#pragma once

#include "agent/endpoint.h"
#include "queue/queue.h"

struct exporter;

struct exporter_options {
	struct endpoint_options endpoint;
	size_t waiting_bytes; /* limit of bytes in memory that wait for the thread */
	struct queue_options queue;
	bool queue_optional; /* if its directory cannot be used: memory, with a warning */
};

enum err exporter_new(const struct exporter_options *o, struct exporter **ret,
		      struct fault *fault) MUST_CHECK;
/* Tries to deliver what is queued, for at most `patience_ns`; the rest stays on disk. */
void exporter_free(struct exporter *x, int64_t patience_ns);
/* Takes over the bytes (uncompressed OTLP); the buffer is empty afterwards. */
void exporter_send(struct exporter *x, struct buf *bytes);

/* Sets the header that describes this agent in further requests: "Name: value", of less than
 * EXPORTER_ABOUT bytes. */
#define EXPORTER_ABOUT 512
void exporter_describe(struct exporter *x, const char *header);

struct exporter_stats {
	uint64_t sent, failed, bytes;
	uint64_t refused;	    /* requests permanently refused; also in `dropped` */
	uint64_t rejected_profiles; /* in accepted requests */
	uint64_t dropped;	    /* requests lost for any reason */
	uint64_t samples_refused,
		samples_dropped; /* in refused requests; in those dropped by a full queue */
	uint64_t waiting_bytes;	 /* waiting in memory or in the queue */
	struct queue_stats queue;
	char last_fault[400]; /* empty if the last request was delivered */
};

void exporter_stats(struct exporter *x, struct exporter_stats *ret);
