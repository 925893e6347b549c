/*
 * OTLP traces (ExportTraceServiceRequest, TracesData), as protobuf or JSON: span by span, with the
 * attributes the caller wants. Events, links, trace state and scopes are not read.
 */
#pragma once

#include "format/format.h"

#define OTLP_SPAN_ATTRIBUTES 64 /* most of one span that are handed on */

struct otlp_span {
	/* Bytes as they came: 16 and 8 of them when they are valid, the parent's may be none. */
	struct str trace_id, span_id, parent_id;
	struct str service; /* service.name of the resource, may be empty */
	struct str operation;
	uint32_t kind, status; /* OTLP's numbers */
	uint64_t start_ns, end_ns;
	/* Those of the span first, then the resource's. Numbers as text; arrays and lists not. */
	const struct label_pair *attributes;
	size_t attribute_count;
};

struct traces_reading {
	struct limits limits;
	void *context;
	bool (*wanted)(struct str key, bool resource);
	/* Slices are gone when it returns. */
	enum err (*span)(void *context, const struct otlp_span *span, struct fault *fault);
	struct fault fault;
};

enum err otlp_traces_read(struct str bytes, struct traces_reading *r) MUST_CHECK;
enum err otlp_traces_read_json(struct str bytes, struct traces_reading *r) MUST_CHECK;

/* Between otlp_traces_read.c and otlp_traces_json.c: attributes being gathered. */
struct otlp_span_attributes {
	size_t n, resource_n; /* the resource's come first while they are gathered */
	struct label_pair v[OTLP_SPAN_ATTRIBUTES];
	char numbers[OTLP_SPAN_ATTRIBUTES][32];
};

/* Room for the text of the next one; NULL when there are enough. */
char *otlp_span_attribute(struct otlp_span_attributes *a, struct str key, struct str value);
/* Takes the attribute at `before`, the service's name, away again. */
void otlp_span_service(struct otlp_span_attributes *a, size_t before, struct str *ret);
enum err otlp_span_finish(struct traces_reading *r, struct otlp_span_attributes *a,
			  struct otlp_span *span) MUST_CHECK;
