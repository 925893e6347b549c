/*
 * Everything between the HTTP server and a handler: finding the route, whether it may be asked, and
 * how much is in flight.
 */
#include "server/request.h"

#include "base/clock.h"
#include "format/format.h"
#include "server/access.h"
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

static void give_back(struct request *r)
{
	atomic_fetch_sub(&r->server->in_flight, r->reserved);
	r->reserved = 0;
}

/* Only uploads are large; they are counted, so that many at once are refused and not swapped. */
static enum err admit(struct request *r, struct fault *fault)
{
	enum err error;

	TRY(access_check(r, fault));
	if (!request_brings_data(r)) {
		if (r->x->max_body > REQUEST_MAX_QUESTION)
			r->x->max_body = REQUEST_MAX_QUESTION;
		return ERR_OK;
	}
	error = reserve(r, fault);
	/* Who is not admitted is not told when it is finished. */
	if (error != ERR_OK)
		give_back(r);
	return error;
}

/* Clients of gRPC read a status of their own kind. */
static bool refuse_unknown_call(struct request *r)
{
	struct rpc_call call;

	if (!str_starts(http_find(r->x, STR("content-type")), STR("application/grpc")) ||
	    !str_eq(r->x->method, STR("POST")))
		return false;
	atomic_fetch_add(&r->server->metrics.failures[ERR_NOT_FOUND], 1);
	if (rpc_open(&call, r->x))
		rpc_unknown(&call);
	return true;
}

static bool admit_or_reply(struct request *r)
{
	struct fault fault = {0};
	enum err error;

	if (r->server->options.cors_origin && request_is_preflight(r->x)) {
		request_reply_preflight(r);
		return false;
	}
	error = route_find(r->x, &r->route, &r->allow, &fault);
	if (error == ERR_NOT_FOUND && refuse_unknown_call(r))
		return false;
	if (error == ERR_OK)
		error = admit(r, &fault);
	if (error != ERR_OK)
		request_fail(r, error, &fault);
	return error == ERR_OK;
}

bool request_admit(void *context, struct http_exchange *x)
{
	struct request *r = arena_zalloc(&x->arena, 1, sizeof(*r));

	x->user = r;
	if (!r) {
		http_reply_text(x, 503, "text/plain", STR("out of memory\n"));
		return false;
	}
	r->server = context;
	r->x = x;
	return admit_or_reply(r);
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

void request_measured(struct request *r)
{
	size_t length = r->x->body.n;

	if (!r->reserved || length <= r->reserved)
		return;
	atomic_fetch_add(&r->server->in_flight, length - r->reserved);
	r->reserved = length;
}

void request_handle(void *context, struct http_exchange *x)
{
	struct request *r = x->user;

	(void)context;
	request_measured(r);
	if (!(r->route->flags & ROUTE_WORKER))
		r->route->handle(r);
	else if (workers_give(r->server->workers, handle_on_worker, r) != ERR_OK)
		request_fail(r, ERR_BUSY,
			     &(struct fault){.text = "too many questions are waiting; try again in "
						     "a second"});
}

void request_finished(void *context, struct http_exchange *x)
{
	(void)context;
	if (x->user)
		give_back(x->user);
}

/* ------------------------------------------------------------------ bodies */

size_t request_max_inflated(const struct request *r)
{
	return request_brings_data(r) ? r->server->options.max_inflated : REQUEST_MAX_QUESTION;
}

enum err request_body(struct request *r, struct buf *ret_owner, struct str *ret,
		      struct fault *fault)
{
	struct limits limits = LIMITS_DEFAULT;

	limits.max_bytes = request_max_inflated(r);
	buf_init(ret_owner, limits.max_bytes);
	atomic_fetch_add(&r->server->metrics.bytes_received, r->x->body.n);
	TRY(encoding_undo(http_find(r->x, STR("content-encoding")), r->x->body, &limits, ret_owner,
			  ret, fault));
	atomic_fetch_add(&r->server->metrics.bytes_inflated, ret->n);
	return ERR_OK;
}

enum err request_audit(struct request *r, const char *action, const struct audit_pair *pairs,
		       size_t n, struct fault *fault)
{
	struct audit_pair all[3 + REQUEST_AUDIT_PAIRS] = {
		{"tenant", r->tenant}, {"token", r->token_id}, {"peer", r->x->peer}};

	enum err error;

	n = n < REQUEST_AUDIT_PAIRS ? n : REQUEST_AUDIT_PAIRS;
	for (size_t i = 0; i < n; i++)
		all[3 + i] = pairs[i];
	error = audit_write(r->server->audit, action, all, 3 + n, fault);
	/* What is audited may be what frees space. */
	if (error == ERR_NO_SPACE) {
		store_use_reserve(r->server->store);
		error = audit_write(r->server->audit, action, all, 3 + n, fault);
	}
	return error;
}
