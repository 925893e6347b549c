/*
 * One call of a gRPC method, as a client: a message there, a message back. Any thread may call.
 */
#pragma once

#include "base/buf.h"

enum grpc_status {
	GRPC_OK = 0,
	GRPC_CANCELLED = 1,
	GRPC_UNKNOWN = 2,
	GRPC_DEADLINE_EXCEEDED = 4,
	GRPC_PERMISSION_DENIED = 7,
	GRPC_RESOURCE_EXHAUSTED = 8,
	GRPC_ABORTED = 10,
	GRPC_OUT_OF_RANGE = 11,
	GRPC_UNIMPLEMENTED = 12,
	GRPC_UNAVAILABLE = 14,
	GRPC_DATA_LOSS = 15,
	GRPC_UNAUTHENTICATED = 16,
};

struct grpc_call {
	const char *url; /* http(s)://host:port/package.Service/Method */
	const char *user_agent;
	double timeout; /* seconds for all of it */
	bool insecure;
	const char *ca_file, *certificate, *key; /* or NULL, as those of fetch */
	const char *const *headers;		 /* ends with NULL; or NULL */
	struct str message;
	bool gzip; /* the message is packed already */
};

/* What the server says besides its message. */
struct grpc_answer {
	int status;	       /* enum grpc_status, as the protocol maps it when only HTTP failed */
	char message[300];     /* for people, on one line */
	uint8_t details[2048]; /* google.rpc.Status */
	size_t details_size;
	bool packed; /* the message is, in the way the request was */
};

/*
 * ERR_OK when the status is 0; the answer's message is then appended to `ret`. Otherwise the
 * answer says why, and the fault says it in a sentence. Nobody there is GRPC_UNAVAILABLE.
 */
enum err grpc_call(const struct grpc_call *c, struct buf *ret, struct grpc_answer *ret_answer,
		   struct fault *fault) MUST_CHECK;
