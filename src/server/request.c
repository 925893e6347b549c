/*
 * Everything between the HTTP server and a handler: finding the route, who asks, how much is in
 * flight, and how answers and failures look.
 */
#include "server/request.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/jsonout.h"
#include "format/format.h"
#include "server/encoding.h"
#include "server/rates.h"
#include "server/routes.h"
#include "server/rpc_route.h"

/* Of a body whose length nobody says beforehand. */
#define UNKNOWN_BODY ((size_t)1 << 20)

bool request_wanted(const struct request *r)
{
	return !atomic_load_explicit(&r->x->gone, memory_order_relaxed);
}

static const char *const plain_headers[][2] = {
	{"x-content-type-options", "nosniff"},
	{"cache-control", "no-store"},
};

void request_reply(struct request *r, int status, const char *content_type, struct buf *body)
{
	struct http_header headers[5];
	struct http_response response = {.status = status, .headers = headers};

	if (content_type)
		headers[response.header_count++] =
			(struct http_header){STR("content-type"), str_of(content_type)};
	for (size_t i = 0; i < 2; i++)
		headers[response.header_count++] = (struct http_header){
			str_of(plain_headers[i][0]), str_of(plain_headers[i][1])};
	if (r->server->options.cors_origin)
		headers[response.header_count++] = (struct http_header){
			STR("access-control-allow-origin"), str_of(r->server->options.cors_origin)};
	if (body && !body->error)
		response.body = *body;
	else if (body)
		response.status = err_http(body->error);
	if (body && body->error)
		buf_release(body);
	if (body)
		buf_init(body, body->ceiling);
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

static void fail_in_json(struct request *r, enum err error, const char *text)
{
	struct http_header headers[3] = {{STR("content-type"), STR("application/json")}};
	struct http_response response = {
		.status = err_http(error), .headers = headers, .header_count = 1};
	struct jsonout o;

	buf_init(&response.body, 4096);
	o = jsonout_of(&response.body, false);
	jsonout_object(&o);
	jsonout_put_text(&o, "code", err_label(error));
	jsonout_put_text(&o, "message", text);
	jsonout_end_object(&o);
	if (err_retry(error) && response.status != 499)
		headers[response.header_count++] =
			(struct http_header){STR("retry-after"), STR("1")};
	if (error == ERR_UNAUTHENTICATED)
		headers[response.header_count++] =
			(struct http_header){STR("www-authenticate"), STR("Bearer")};
	http_reply(r->x, &response);
}

void request_fail(struct request *r, enum err error, const struct fault *fault)
{
	const char *text = fault && fault->text[0] ? fault->text : err_text(error);

	atomic_fetch_add(&r->server->metrics.failures[error], 1);
	if (r->route && r->route->flags & ROUTE_RPC)
		rpc_route_fail(r, error, text);
	else
		fail_in_json(r, error, text);
}

/* ------------------------------------------------------------------ who asks */

static bool tenant_valid(struct str tenant)
{
	if (!tenant.n || tenant.n > TOKEN_MAX_TENANT || str_eq(tenant, STR(".")) ||
	    str_eq(tenant, STR("..")))
		return false;
	for (size_t i = 0; i < tenant.n; i++) {
		char c = tenant.p[i];

		if (!((c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') ||
		      strchr("!-_.*'()", c)))
			return false;
	}
	return true;
}

/* "Bearer x", or the password of "Basic …": clients of Pyroscope have only that to set. */
static struct str bearer(struct request *r)
{
	struct str header = http_find(r->x, STR("authorization"));

	if (str_starts(header, STR("Bearer ")) || str_starts(header, STR("bearer ")))
		return str_trim(str_skip(header, 7));
	if (str_starts(header, STR("Basic ")))
		return basic_password(&r->x->arena, str_trim(str_skip(header, 6)));
	return (struct str){0};
}

static enum err find_tenant(struct request *r, struct str default_tenant, struct fault *fault)
{
	struct str header = http_find(r->x, STR("x-scope-orgid"));

	r->tenant = default_tenant;
	if (!header.n || !r->server->options.trust_tenant_header)
		return ERR_OK;
	if (!tenant_valid(header))
		return fault_set(fault, ERR_BAD_ARGUMENT, "X-Scope-OrgID is no name of a tenant");
	r->tenant = header;
	return ERR_OK;
}

static enum err identify(struct request *r, struct fault *fault)
{
	struct token_info *info;

	r->rights = TOKEN_READ | TOKEN_WRITE | TOKEN_ADMIN;
	if (!r->server->tokens)
		return find_tenant(r, STR(DEFAULT_TENANT), fault);
	r->rights = 0;
	if (r->route->flags & ROUTE_OPEN)
		return ERR_OK;
	info = arena_zalloc(&r->x->arena, 1, sizeof(*info));
	if (!info)
		return ERR_NO_MEMORY;
	if (tokens_check(r->server->tokens, bearer(r), info) != ERR_OK)
		return fault_set(fault, ERR_UNAUTHENTICATED,
				 "a token is needed: Authorization: Bearer vst_…");
	r->rights = info->rights;
	r->tenant = str_of(info->tenant);
	return ERR_OK;
}

static enum err authorize(const struct request *r, struct fault *fault)
{
	static const struct {
		unsigned flag, right;
		const char *name;
	} needs[] = {{ROUTE_READ, TOKEN_READ, "read"},
		     {ROUTE_WRITE, TOKEN_WRITE, "write"},
		     {ROUTE_ADMIN, TOKEN_ADMIN, "admin"}};

	for (size_t i = 0; i < 3; i++)
		if (r->route->flags & needs[i].flag && !(r->rights & needs[i].right))
			return fault_set(fault, ERR_NO_PERMISSION,
					 "this token has not the right \"%s\"", needs[i].name);
	return ERR_OK;
}

/* ------------------------------------------------------------------ admission */

static size_t announced_length(const struct http_exchange *x)
{
	uint64_t length;

	if (str_to_u64(http_find(x, STR("content-length")), 10, &length) != ERR_OK)
		return UNKNOWN_BODY;
	return length < SIZE_MAX ? (size_t)length : SIZE_MAX;
}

static enum err reserve(struct request *r, struct fault *fault)
{
	size_t length = announced_length(r->x), limit = r->server->options.max_in_flight;

	if (length > r->x->max_body)
		return fault_set(fault, ERR_TOO_LARGE,
				 "the body has %zu bytes; at most %zu are taken", length,
				 r->x->max_body);
	size_t before = atomic_fetch_add(&r->server->in_flight, length);

	r->reserved = length;
	if (before && before + length > limit)
		return fault_set(fault, ERR_BUSY,
				 "%zu bytes are being received already; try again in a second",
				 before);
	return rates_take(r->server->rates, r->tenant, length, fault);
}

static enum err admit(struct request *r, struct fault *fault)
{
	TRY(identify(r, fault));
	TRY(authorize(r, fault));
	return r->route->flags & ROUTE_WRITE ? reserve(r, fault) : ERR_OK;
}

bool request_admit(void *context, struct http_exchange *x)
{
	struct request *r = arena_zalloc(&x->arena, 1, sizeof(*r));
	struct fault fault = {0};
	enum err error;

	x->user = r;
	if (!r) {
		http_reply_text(x, 503, "text/plain", STR("out of memory\n"));
		return false;
	}
	r->server = context;
	r->x = x;
	error = route_find(x, &r->route, &fault);
	if (error == ERR_OK)
		error = admit(r, &fault);
	if (error != ERR_OK)
		request_fail(r, error, &fault);
	return error == ERR_OK;
}

static void handle_on_worker(void *context)
{
	struct request *r = context;
	int64_t start = clock_monotonic_ns();
	struct server *s = r->server;

	atomic_fetch_add(&s->metrics.questions, 1);
	if (request_wanted(r)) {
		r->route->handle(r);
	} else {
		atomic_fetch_add(&s->metrics.questions_cancelled, 1);
		request_fail(r, ERR_CANCELLED, NULL);
	}
	histogram_add(&s->metrics.question, clock_monotonic_ns() - start);
}

void request_handle(void *context, struct http_exchange *x)
{
	struct request *r = x->user;

	(void)context;
	if (!(r->route->flags & ROUTE_WORKER))
		r->route->handle(r);
	else if (workers_give(r->server->workers, handle_on_worker, r) != ERR_OK)
		request_fail(r, ERR_BUSY,
			     &(struct fault){.text = "too many questions are waiting; try again in "
						     "a second"});
}

void request_finished(void *context, struct http_exchange *x)
{
	struct request *r = x->user;
	struct server *s = context;

	if (r)
		atomic_fetch_sub(&s->in_flight, r->reserved);
}

/* ------------------------------------------------------------------ bodies */

enum err request_body(struct request *r, struct buf *ret_owner, struct str *ret,
		      struct fault *fault)
{
	struct limits limits = LIMITS_DEFAULT;

	limits.max_bytes = r->server->options.max_inflated;
	buf_init(ret_owner, limits.max_bytes);
	atomic_fetch_add(&r->server->metrics.bytes_received, r->x->body.n);
	TRY(encoding_undo(http_find(r->x, STR("content-encoding")), r->x->body, &limits, ret_owner,
			  ret, fault));
	atomic_fetch_add(&r->server->metrics.bytes_inflated, ret->n);
	return ERR_OK;
}
