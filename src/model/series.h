/*
 * A profile with the labels of its series and the types of its columns, as passed from receivers to
 * the store.
 */
#pragma once

#include "model/profile.h"

struct label_pair {
	struct str name, value;
};

struct series_profile {
	/* Of the series, sorted by name, no two alike, service_name among them. */
	const struct label_pair *labels;
	size_t label_count;
	/* One Pyroscope id per column of `profile` ("process_cpu:cpu:nanoseconds:cpu:nanoseconds");
	 * a column with an empty id is dropped. */
	const struct str *types;
	const struct profile *profile;
	int64_t time_ns, duration_ns; /* of the window */
};

/* A span of a trace, from OTLP. */
struct trace_span {
	uint8_t trace_id[16];
	uint8_t span_id[8], parent_id[8];
	uint32_t kind, status; /* OTLP's numbers */
	struct str service, operation;
	int64_t start_ns, duration_ns;
	const struct label_pair *attributes;
	size_t attribute_count;
};
