/*
 * The table of everything the server answers to.
 */
#pragma once

#include "server/request.h"

/* ERR_NOT_FOUND, or ERR_BAD_METHOD when the path is known under another method: then
 * `*ret_allow` is what an Allow header says. HEAD is served by whoever serves GET. */
enum err route_find(const struct http_exchange *x, const struct route **ret, const char **ret_allow,
		    struct fault *fault) MUST_CHECK;
/* The routes of one list after the other; NULL ends. For tests that go through all. */
const struct route *route_at(size_t index);

/* request.c: what the HTTP server calls. */
bool request_admit(void *context, struct http_exchange *x);
void request_handle(void *context, struct http_exchange *x);
void request_finished(void *context, struct http_exchange *x);
void request_refuse(void *context, struct http_exchange *x, enum err error);

/* Lists of routes by topic, each ends with a row without a path. */
extern const struct route ingest_routes[]; /* ingest_routes.c: /ingest, OTLP over HTTP, uploads */
extern const struct route rpc_routes[];	   /* rpc_route.c: gRPC and Connect */
extern const struct route api_routes[];	   /* api_*.c: /api/v1 */
extern const struct route render_routes[]; /* render.c: Pyroscope's older API */
extern const struct route page_routes[];   /* pages.c: / */
/* Of an address that a person typed: the page says that there is nothing, pages.c. */
extern const struct route nowhere_route;
bool route_is_for_nowhere(const struct http_exchange *x);
extern const struct route health_routes[]; /* health.c: /ready, /-/healthy, /metrics */
