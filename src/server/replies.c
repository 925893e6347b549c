/*
 * Formats replies and errors: common headers, headers for browsers, gzip.
 */
#include <stdio.h>

#include "base/jsonout.h"
#include "server/access.h"
#include "base/work_scope.h"
#include "server/encoding.h"
#include "server/request.h"
#include "server/rpc_route.h"

#define MAX_HEADERS 10

/* A page or picture of ours is one file: it loads nothing, sends nothing, belongs to no origin. */
#define PAGE_POLICY                                                                    \
	"default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "  \
	"img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; " \
	"sandbox allow-scripts"

struct reply_headers {
	struct http_header v[MAX_HEADERS];
	size_t n;
};

static void put(struct reply_headers *h, struct str name, struct str value)
{
	h->v[h->n++] = (struct http_header){name, value};
}

static bool is_page(const char *content_type)
{
	return str_starts(str_of(content_type), STR("text/html")) ||
	       str_starts(str_of(content_type), STR("image/svg+xml"));
}

static void put_common(struct reply_headers *h, const struct request *r, const char *content_type)
{
	const char *origin = r->server->options.cors_origin;

	if (content_type)
		put(h, STR("content-type"), str_of(content_type));
	put(h, STR("x-content-type-options"), STR("nosniff"));
	put(h, STR("cache-control"), STR("no-store"));
	if (content_type && is_page(content_type))
		put(h, STR("content-security-policy"), STR(PAGE_POLICY));
	if (origin)
		put(h, STR("access-control-allow-origin"), str_of(origin));
}

/* Formats for programs are compressed already, or their readers do not expect it. */
static bool worth_gzip(const char *content_type)
{
	return content_type && !str_starts(str_of(content_type), STR("application/octet-stream")) &&
	       !str_starts(str_of(content_type), STR("application/x-protobuf"));
}

void request_reply(struct request *r, int status, const char *content_type, struct buf *body)
{
	struct reply_headers headers = {0};
	struct http_response response = {.status = status, .headers = headers.v};

	if (body && body->error) {
		enum err error = body->error;

		buf_release(body);
		request_fail(r, error, NULL);
		return;
	}
	put_common(&headers, r, content_type);
	if (body && worth_gzip(content_type)) {
		put(&headers, STR("vary"), STR("accept-encoding"));
		if (encoding_gzip(http_find(r->x, STR("accept-encoding")), body))
			put(&headers, STR("content-encoding"), STR("gzip"));
	}
	response.header_count = headers.n;
	if (body) {
		response.body = *body;
		buf_init(body, body->ceiling);
	}
	http_reply(r->x, &response);
}

void request_reply_json(struct request *r, struct buf *body)
{
	request_reply(r, 200, "application/json", body);
}

void request_reply_empty(struct request *r, int status)
{
	request_reply(r, status, NULL, NULL);
}

void request_reply_text(struct request *r, int status, const char *content_type, struct str text)
{
	struct buf body = BUF_INIT(SIZE_MAX);

	buf_str(&body, text);
	request_reply(r, status, content_type, &body);
}

static void fail_in_json(struct request *r, enum err error, const char *text)
{
	struct reply_headers headers = {0};
	struct http_response response = {.status = err_http(error), .headers = headers.v};
	struct jsonout o;

	put_common(&headers, r, "application/json");
	buf_init(&response.body, 4096);
	o = jsonout_of(&response.body, false);
	jsonout_object(&o);
	jsonout_put_text(&o, "code", err_label(error));
	jsonout_put_text(&o, "message", text);
	jsonout_end_object(&o);
	if (err_retry(error) && response.status != 499)
		put(&headers, STR("retry-after"), STR("1"));
	if (error == ERR_UNAUTHENTICATED)
		put(&headers, STR("www-authenticate"), STR("Bearer"));
	if (error == ERR_BAD_METHOD && r->allow)
		put(&headers, STR("allow"), str_of(r->allow));
	response.header_count = headers.n;
	http_reply(r->x, &response);
}

const char *request_text(const struct request *r, const char *text, struct fault *room)
{
	const char *directory = r->server->options.store.directory;
	struct str rest = str_of(text);
	size_t n = 0, at;

	if (!directory || !directory[0] || access_sees_server(r))
		return text;
	while ((at = str_search(rest, str_of(directory))) < rest.n && n < sizeof(room->text)) {
		n += (size_t)snprintf(room->text + n, sizeof(room->text) - n, "%.*sDATA", (int)at,
				      rest.p);
		rest = str_skip(rest, at + strlen(directory));
	}
	if (n < sizeof(room->text))
		snprintf(room->text + n, sizeof(room->text) - n, "%.*s", (int)rest.n, rest.p);
	return room->text;
}

void request_fail(struct request *r, enum err error, const struct fault *fault)
{
	struct fault reason = fault ? *fault : (struct fault){0}, room;
	const char *text;

	error = request_reason(r, error, &reason);
	text = reason.text[0] ? reason.text : err_text(error);
	/* The answer is small, and must not fail for the same reason. */
	work_scope_ease();
	atomic_fetch_add(&r->server->metrics.failures[error], 1);
	tenant_counts_failed(r->server->counts, r->tenant, error);
	text = request_text(r, text, &room);
	if (r->route && r->route->flags & ROUTE_RPC)
		rpc_route_fail(r, error, text);
	else
		fail_in_json(r, error, text);
}

/* The CORS preflight request of a browser. */
bool request_is_preflight(const struct http_exchange *x)
{
	return str_eq(x->method, STR("OPTIONS")) && http_find(x, STR("origin")).n &&
	       http_find(x, STR("access-control-request-method")).n;
}

void request_reply_preflight(struct request *r)
{
	struct reply_headers headers = {0};
	struct http_response response = {.status = 204, .headers = headers.v};

	put_common(&headers, r, NULL);
	put(&headers, STR("access-control-allow-methods"), STR("GET, HEAD, POST"));
	put(&headers, STR("access-control-allow-headers"),
	    STR("authorization, content-type, content-encoding, connect-protocol-version, "
		"connect-timeout-ms, grpc-timeout, x-grpc-web, x-user-agent, x-scope-orgid"));
	put(&headers, STR("access-control-max-age"), STR("600"));
	response.header_count = headers.n;
	http_reply(r->x, &response);
}
