/*
 * Sends encoded requests to an OTLP endpoint, in a thread of its own: what cannot be delivered now
 * waits, bounded, and is tried again; the oldest goes first when there is no more room.
 */
#pragma once

#include "base/buf.h"
#include "base/err.h"

struct exporter;

struct exporter_options {
	const char *url;   /* http(s)://host:port, without a path */
	const char *token; /* NULL = none */
	const char *ca_file;
	bool insecure;
	size_t waiting_bytes; /* in memory, at most */
};

enum err exporter_new(const struct exporter_options *o, struct exporter **ret,
		      struct fault *fault) MUST_CHECK;
/* Tries once more to deliver what waits, for `patience_ns` at most. */
void exporter_free(struct exporter *x, int64_t patience_ns);
/* Takes the bytes (plain OTLP); the buffer is empty afterwards. */
void exporter_send(struct exporter *x, struct buf *bytes);

struct exporter_stats {
	uint64_t sent, failed, dropped, bytes, waiting_bytes;
	char last_fault[400]; /* empty = the last one was delivered */
};

void exporter_stats(struct exporter *x, struct exporter_stats *ret);
