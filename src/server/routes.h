/*
 * The table of routes.
 */
#pragma once

#include "server/request.h"

/* ERR_NOT_FOUND, or ERR_BAD_METHOD if the path exists with another method: then `*ret_allow` is the
 * value of the Allow header. HEAD is served by the route for GET. */
enum err route_find(const struct http_exchange *x, const struct route **ret, const char **ret_allow,
		    struct fault *fault) MUST_CHECK;
/* The i-th route of all lists; NULL after the last. For tests of all routes. */
const struct route *route_at(size_t index);

/* request.c: callbacks of the HTTP server. */
bool request_admit(void *context, struct http_exchange *x);
void request_handle(void *context, struct http_exchange *x);
void request_finished(void *context, struct http_exchange *x);
void request_refuse(void *context, struct http_exchange *x, enum err error);

/* Lists of routes by topic, each ending with a row without a path. */
extern const struct route ingest_routes[]; /* ingest_routes.c: /ingest, OTLP over HTTP, uploads */
extern const struct route rpc_routes[];	   /* rpc_route.c: gRPC and Connect */
extern const struct route api_routes[];	   /* api_*.c: /api/v1 */
extern const struct route render_routes[]; /* render.c: Pyroscope's older API */
extern const struct route page_routes[];   /* pages.c: / */
/* The 404 page for browsers, pages.c. */
extern const struct route nowhere_route;
bool route_is_for_nowhere(const struct http_exchange *x);
extern const struct route health_routes[]; /* health.c: /ready, /-/healthy, /metrics */
