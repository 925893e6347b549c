/*
 * A unary gRPC call, as a client. Thread safe.
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
	double timeout; /* time limit in seconds */
	bool insecure;
	const char *ca_file, *certificate, *key; /* or NULL, as for fetch */
	const char *const *headers;		 /* ends with NULL; or NULL */
	struct str message;
	bool gzip; /* the message is already compressed */
};

/* The status of the call. */
struct grpc_answer {
	int status;	       /* enum grpc_status; HTTP errors are mapped to it */
	char message[300];     /* message, one line */
	uint8_t details[2048]; /* google.rpc.Status */
	size_t details_size;
	bool packed; /* the message is compressed like the request */
};

/*
 * ERR_OK if the status is 0; the response message is then appended to `ret`. Otherwise see the
 * status; the fault has a message. GRPC_UNAVAILABLE if the server cannot be reached.
 */
enum err grpc_call(const struct grpc_call *c, struct buf *ret, struct grpc_answer *ret_answer,
		   struct fault *fault) MUST_CHECK;
