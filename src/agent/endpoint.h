/*
 * The endpoint for profiles, from options and from OpenTelemetry's environment variables.
 */
#pragma once

#include "base/buf.h"
#include "base/vec.h"

struct endpoint_options {
	const char *server; /* NULL = the environment's, else ENDPOINT_DEFAULT */
	const char *token;  /* bearer; NULL = none */
	const char *ca_file, *certificate, *key;
	bool insecure; /* accept any certificate */
	/* "Name: value" each; may be NULL if there are none. */
	const char *const *headers;
	size_t header_count;
};

#define ENDPOINT_DEFAULT "http://127.0.0.1:4318"

struct endpoint {
	bool grpc;
	bool gzip;
	bool insecure;
	double timeout; /* seconds */
	struct buf url; /* of the method */
	const char *ca_file, *certificate, *key;
	VEC(char *) headers; /* ends with NULL */
};

/*
 * http(s)://host:4317, grpc://host and grpcs://host are OTLP/gRPC; other http(s) addresses are
 * OTLP/HTTP. The options' strings must remain valid.
 */
enum err endpoint_init(struct endpoint *ret, const struct endpoint_options *o,
		       struct fault *fault) MUST_CHECK;
void endpoint_release(struct endpoint *e);
