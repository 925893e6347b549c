/*
 * What an OTLP server says back: profiles it did not take, and when to come again.
 */
#pragma once

#include "base/str.h"

struct otlp_answer {
	int64_t rejected;   /* profiles */
	struct str message; /* into the bytes; may be a warning alone */
};

/* An ExportProfilesServiceResponse; false when it is none. Nothing in it is full success. */
bool otlp_answer_read(struct str bytes, struct otlp_answer *ret);
/* The RetryInfo of a google.rpc.Status, in nanoseconds; -1 = it has none. */
int64_t rpc_status_retry_ns(struct str bytes);
/* The message of a google.rpc.Status; empty when it has none, or it is not text. */
struct str rpc_status_message(struct str bytes);
