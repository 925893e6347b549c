/*
 * push.v1.PushRequest, as protobuf or JSON:
 *
 *	PushRequest		1 series: repeated RawProfileSeries
 *	RawProfileSeries	1 labels: repeated LabelPair {1 name, 2 value}
 *				2 samples: repeated RawSample
 *	RawSample		1 raw_profile: bytes (rawProfile in JSON), 2 ID: string
 */
#pragma once

#include "base/arena.h"
#include "pipeline/receive.h"

#define PUSH_MAX_SERIES 100000
/* Maximum labels per series; far above what limits allow. */
#define PUSH_MAX_LABELS 256

struct push_series {
	const struct label_pair *labels;
	size_t label_count;
	const struct str *profiles; /* raw_profile of its samples */
	size_t profile_count;
};

/* Called for every series of the request; its data is valid only during the call. */
typedef enum err (*push_series_fn)(void *context, const struct push_series *series,
				   struct fault *fault);

enum err push_request_read(struct str body, const struct limits *limits, push_series_fn fn,
			   void *context, struct fault *fault) MUST_CHECK;
enum err push_request_read_json(struct str body, const struct limits *limits, push_series_fn fn,
				void *context, struct fault *fault) MUST_CHECK;
