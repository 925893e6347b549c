/*
 * Receivers: from the bytes of a request to profiles with series labels. The caller handles the
 * transport: bodies are complete and decompressed (Content-Encoding removed), and the caller
 * replies.
 *
 * A receiver pushes into a `struct sink`, the interface to the store. The profiles of a request are
 * one batch, which the caller commits if the receiver succeeds.
 *
 * Names, labels and types are those that users of each client expect (docs/receive.md).
 */
#pragma once

#include "format/format.h"
#include "model/model.h"

struct sink {
	void *context;
	uint64_t seed; /* seed of dictionaries for it */
	/* The store's dictionary for a service, to decode into. Valid until another one is
	 * requested or a profile of another service is pushed. NULL = not supported. */
	enum err (*dictionary)(void *context, struct str service, struct dict **ret,
			       struct fault *fault);
	enum err (*profile)(void *context, const struct series_profile *p, struct fault *fault);
	enum err (*span)(void *context, const struct trace_span *span, struct fault *fault);
};

struct receive_limits {
	struct limits format; /* limits of decoders, including 64 MiB of decompressed data */
	uint32_t max_labels, max_label_name, max_label_value;
	/* Sample labels that become series labels, besides those of the resource. */
	const struct str *series_labels;
	size_t series_label_count;
};

/* 30 labels of at most 1024 and 2048 bytes, 64 MiB, and an allow-list of labels for place and
 * version of a program. */
extern const struct receive_limits receive_limits_default;

/* The result. Rejected parts are counted, with the first reason, for OTLP's partial success; a
 * receiver fails only if nothing could be accepted. */
struct received {
	uint64_t profiles, samples, spans;
	uint64_t rejected; /* profiles or spans */
	struct fault reason;
	/* Of accepted data: profiles with a derived column, dropped rows with negative values,
	 * dropped columns with a duplicate type, and values clamped to int64 after unit conversion.
	 * The notes describe these in words. */
	uint64_t derived_profiles, dropped_rows, dropped_columns, clamped_values;
	struct notes notes;
};

struct receive {
	struct sink sink;
	struct receive_limits limits;
	int64_t now_ns; /* wall clock at arrival, for profiles without a time */
	struct received result;
};

void received_release(struct received *r);

enum err receive_otlp_profiles(struct receive *r, struct str body, bool json,
			       struct fault *fault) MUST_CHECK;
enum err receive_otlp_traces(struct receive *r, struct str body, bool json,
			     struct fault *fault) MUST_CHECK;

/* POST /ingest: parameters as sent in the query string, body and its Content-Type. */
struct ingest_request {
	struct str name, from, until, format, sample_rate, spy_name, units, aggregation_type;
	struct str content_type;
	struct str body;
};
enum err receive_ingest(struct receive *r, const struct ingest_request *request,
			struct fault *fault) MUST_CHECK;

/* push.v1.PusherService/Push: a PushRequest as protobuf or JSON. */
enum err receive_push(struct receive *r, struct str body, bool json,
		      struct fault *fault) MUST_CHECK;

/* POST /api/v1/profiles: any format of the file tool, labels given by the caller. */
struct upload_request {
	const struct label_pair *labels; /* service_name among them, or "unknown_service" */
	size_t label_count;
	struct str format;	      /* empty = detect */
	int64_t time_ns, duration_ns; /* 0 = that of the file, else it ended now */
	struct str body;
};
enum err receive_upload(struct receive *r, const struct upload_request *request,
			struct fault *fault) MUST_CHECK;
