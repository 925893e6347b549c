/*
 * Receivers: from the bytes of a request to profiles with their address. Transport is somebody
 * else's: bodies come complete and decompressed (Content-Encoding undone), replies are theirs too.
 *
 * A receiver pushes into a `struct sink`, which stands for whoever keeps the profiles. What one
 * request brings is one batch of the sink's: the caller commits it when the receiver succeeds.
 *
 * Names, labels and types come out as the users of each client expect them (docs/receive.md).
 */
#pragma once

#include "format/format.h"
#include "model/model.h"

struct sink {
	void *context;
	uint64_t seed; /* of dictionaries made for it */
	/* A warm dictionary that profiles of this service may be decoded into; it stays usable
	 * until the sink is asked for another or given a profile of another service. NULL function:
	 * there is none. */
	enum err (*dictionary)(void *context, struct str service, struct dict **ret,
			       struct fault *fault);
	enum err (*profile)(void *context, const struct series_profile *p, struct fault *fault);
	enum err (*span)(void *context, const struct trace_span *span, struct fault *fault);
};

struct receive_limits {
	struct limits format; /* what a decoder may do, 64 MiB inflated among it */
	uint32_t max_labels, max_label_name, max_label_value;
	/* Sample labels that make series, besides those of the resource. */
	const struct str *series_labels;
	size_t series_label_count;
};

/* 30 labels of at most 1024 and 2048 bytes, 64 MiB, and an allow-list of labels that say where and
 * in which version a program runs. */
extern const struct receive_limits receive_limits_default;

/* What came of it. Rejected parts are counted with the first reason, for OTLP's partial success;
 * a receiver fails as a whole only when nothing could be taken. */
struct received {
	uint64_t profiles, samples, spans;
	uint64_t rejected; /* profiles or spans */
	struct fault reason;
	/* Of what was taken: profiles with a column that was computed, rows left out because a
	 * value is negative, columns left out because another has their type, and values at the end
	 * of int64 because they do not fit the usual unit. The notes say it in words. */
	uint64_t derived_profiles, dropped_rows, dropped_columns, clamped_values;
	struct notes notes;
};

struct receive {
	struct sink sink;
	struct receive_limits limits;
	int64_t now_ns; /* wall clock at arrival: for windows that have no time */
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
	struct str format;	      /* empty = recognised */
	int64_t time_ns, duration_ns; /* 0 = what the file says, else it ended now */
	struct str body;
};
enum err receive_upload(struct receive *r, const struct upload_request *request,
			struct fault *fault) MUST_CHECK;
