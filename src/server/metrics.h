/*
 * The server's metrics, and /metrics in Prometheus' text format. Counters are atomic.
 */
#pragma once

#include <stdatomic.h>

#include "base/buf.h"

#define HISTOGRAM_BUCKETS 16

/* A histogram of seconds, with buckets that double from 0.25 ms to 8 s. */
struct histogram {
	_Atomic uint64_t buckets[HISTOGRAM_BUCKETS + 1]; /* the last is +Inf */
	_Atomic uint64_t count, sum_ns;
};
void histogram_add(struct histogram *h, int64_t ns);

struct metrics {
	_Atomic uint64_t uploads, profiles, samples, spans, rejected_parts;
	_Atomic uint64_t derived_profiles, dropped_rows, dropped_columns, clamped_values;
	_Atomic uint64_t bytes_received, bytes_inflated;
	_Atomic uint64_t failures[ERR_COUNT_]; /* failed requests by reason */
	_Atomic uint64_t questions, questions_cancelled, queries_late;
	struct histogram ack, commit_wait, question;
};

struct server;
/* Of `tenant` only; if it is empty, of the whole server and each tenant. */
void metrics_print(struct server *s, struct str tenant, struct buf *out);
/* The metrics of the store. */
void metrics_print_kept(struct server *s, struct str tenant, struct buf *out);
/* The header lines of a metric; a metric in seconds. */
void metrics_head(struct buf *out, const char *name, const char *type, const char *help);
void metrics_seconds(struct buf *out, const char *name, const char *type, const char *help,
		     double value);
/* A metric "vestal_NAME" with one value. */
void metrics_one(struct buf *out, const char *name, const char *type, const char *help,
		 uint64_t value);
