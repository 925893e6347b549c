/*
 * Parses responses of OTLP servers: rejected profiles, and retry delays.
 */
#pragma once

#include "base/str.h"

struct otlp_answer {
	int64_t rejected;   /* profiles */
	struct str message; /* points into the bytes; may be a warning without rejections */
};

/* An ExportProfilesServiceResponse; false if it is invalid. An empty one is full success. */
bool otlp_answer_read(struct str bytes, struct otlp_answer *ret);
/* The RetryInfo of a google.rpc.Status, in nanoseconds; -1 = none. */
int64_t rpc_status_retry_ns(struct str bytes);
/* The message of a google.rpc.Status; empty if it has none or it is not UTF-8. */
struct str rpc_status_message(struct str bytes);
