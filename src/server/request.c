/*
 * Everything between the HTTP server and a handler: finding the route, whether it may be asked, and
 * how much is in flight.
 */
#include "server/request.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/work_scope.h"
#include "format/format.h"
#include "server/access.h"
#include "server/encoding.h"
#include "server/rates.h"
#include "server/routes.h"
#include "server/rpc_route.h"

bool request_wanted(const struct request *r)
{
	return !atomic_load_explicit(&r->x->gone, memory_order_relaxed);
}

/* ------------------------------------------------------------------ admission */

/* 0: not known in advance. */
static size_t announced_length(const struct http_exchange *x)
{
	uint64_t length;

	if (str_to_u64(http_find(x, STR("content-length")), 10, &length) != ERR_OK)
		return 0;
	return length < SIZE_MAX ? (size_t)length : SIZE_MAX;
}

static enum err check_body(struct request *r, struct fault *fault)
{
	r->announced = announced_length(r->x);
	if (r->announced > r->x->max_body)
		return fault_set(fault, ERR_TOO_LARGE,
				 "the body has %zu bytes; at most %zu are taken", r->announced,
				 r->x->max_body);
	return rates_take(r->server->rates, r->tenant, r->announced, fault);
}

/* Bodies are charged to the tenant as they arrive (net), not by announced length. */
static enum err admit(struct request *r, struct fault *fault)
{
	struct server *s = r->server;

	TRY(access_check(r, fault));
	/* Health checks are exempt from the tenant's limit. */
	if (r->tenant.n && !(r->route->flags & (ROUTE_OPEN | ROUTE_RESERVE)))
		TRY(http_count_for(r->x, r->tenant, fault));
	if (s->memory && r->tenant.n && !(r->route->flags & ROUTE_OPEN))
		TRY(memory_account_get(s->memory, r->tenant, &r->x->account));
	if (request_brings_data(r))
		return check_body(r, fault);
	if (r->x->max_body > REQUEST_MAX_QUESTION)
		r->x->max_body = REQUEST_MAX_QUESTION;
	return ERR_OK;
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
	struct fault fault = {0}, refused = {0};
	enum err error = route_find(r->x, &r->route, &r->allow, &fault), sender;

	sender = access_check_sender(r, &refused);
	if (sender != ERR_OK) {
		request_fail(r, sender, &refused);
		return false;
	}
	if (r->server->options.cors_origin && request_is_preflight(r->x)) {
		request_reply_preflight(r);
		return false;
	}
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

/* The body cannot be taken; in the words of its client. */
void request_refuse(void *context, struct http_exchange *x, enum err error)
{
	(void)context;
	request_fail(x->user, error,
		     &(struct fault){.text = "the server's memory budget, or the tenant's part of "
					     "it, is used up; try again in a second"});
}

/* ------------------------------------------------------------------ threads */

/* Of its kind on the way in: memory is charged in steps, and those that come late wait here, while
 * they hold no lock. */
#define UPLOAD_START	((size_t)4 << 20)
#define QUERY_START	((size_t)1 << 20)
#define MEMORY_PATIENCE (5 * NS_PER_S)
/* Memory limit for decoding an upload: a constant, plus a multiple of its size as sent. */
#define UPLOAD_MEMORY	((size_t)64 << 20)
#define UPLOAD_RATIO	32
/* And of a query for its response, besides what it may read. */
#define QUERY_MEMORY	((size_t)64 << 20)

static size_t memory_ceiling(const struct request *r)
{
	size_t body = r->x->body.n;

	if (r->route->flags & ROUTE_WRITE)
		return UPLOAD_MEMORY + (body < SIZE_MAX / 64 ? body : SIZE_MAX / 64) * UPLOAD_RATIO;
	return QUERY_MEMORY + 2 * r->server->options.query_memory + body;
}

/* A tenant with more than 1/UNSENT_PART of the budget in unread responses gets 429 until its
 * clients read some. Running queries are not stopped. */
#define UNSENT_PART 8

static enum err check_unsent(struct request *r, struct fault *fault)
{
	struct server *s = r->server;
	size_t unsent;

	if (!r->x->account || r->route->flags & ROUTE_WRITE)
		return ERR_OK;
	unsent = memory_account_look(r->x->account).by_use[MEMORY_UNSENT];
	if (unsent <= s->options.memory_limit / UNSENT_PART)
		return ERR_OK;
	return fault_set(fault, ERR_BUSY,
			 "clients of this tenant have %zu bytes of answers to read; try again when "
			 "they have",
			 unsent);
}

static enum err wait_for_memory(struct request *r, struct work_scope *scope, struct fault *fault)
{
	bool upload = r->route->flags & ROUTE_WRITE;
	size_t n = upload ? UPLOAD_START : QUERY_START;

	if (upload && r->x->body.n < n / 4)
		n = 4 * r->x->body.n;
	return work_scope_wait(scope, n, clock_monotonic_ns() + MEMORY_PATIENCE, fault);
}

static void count_query(struct request *r, const atomic_bool *stop)
{
	struct metrics *m = &r->server->metrics;

	if (r->route->flags & ROUTE_WRITE)
		return;
	atomic_fetch_add(&m->questions, 1);
	if (!request_wanted(r))
		atomic_fetch_add(&m->questions_cancelled, 1);
	else if (atomic_load(stop))
		atomic_fetch_add(&m->queries_late, 1);
}

static void run(struct request *r, struct work_scope *scope, const atomic_bool *stop)
{
	struct fault fault = {0};
	enum err error = ERR_OK;

	count_query(r, stop);
	if (!request_wanted(r) || atomic_load(stop))
		error = ERR_CANCELLED;
	if (error == ERR_OK)
		error = check_unsent(r, &fault);
	if (error == ERR_OK)
		error = wait_for_memory(r, scope, &fault);
	if (error == ERR_OK)
		r->route->handle(r);
	else
		request_fail(r, error, &fault);
}

/* The request may be freed before this ends: copy what is needed. */
static void run_on_thread(void *context, const atomic_bool *stop)
{
	struct request *r = context;
	struct server *s = r->server;
	bool upload = r->route->flags & ROUTE_WRITE;
	struct memory_account *account = memory_account_keep(r->x->account);
	int64_t start = clock_monotonic_ns();
	struct work_scope scope;

	r->x->begun_ns = start;
	work_scope_begin(&scope,
			 &(struct work_terms){.account = account,
					      .use = upload ? MEMORY_DECODED : MEMORY_WORKING,
					      .ceiling = memory_ceiling(r),
					      .stop = stop});
	run(r, &scope, stop);
	work_scope_end(&scope);
	memory_account_put(account);
	if (!upload)
		histogram_add(&s->metrics.question, clock_monotonic_ns() - start);
}

enum err request_reason(const struct request *r, enum err error, struct fault *fault)
{
	struct work_scope *scope = work_scope_now();

	if (!scope)
		return error;
	error = work_scope_error(scope, error, fault);
	if (error != ERR_CANCELLED || !work_stopped() || !request_wanted(r))
		return error;
	return fault_set(fault, ERR_TIMEOUT,
			 "the query took longer than %.3g s and was stopped; use a shorter time "
			 "range or a narrower selector, or raise --query-timeout",
			 (double)r->server->options.query_timeout_ns / NS_PER_S);
}

void request_keeps_memory(struct request *r)
{
	const struct work_scope *scope = work_scope_now();

	if (scope)
		memory_hold_set(&r->stored, r->x->account, MEMORY_DECODED, scope->used);
}

static bool has_deadline(const struct request *r)
{
	return r->server->options.query_timeout_ns &&
	       !(r->route->flags & (ROUTE_WRITE | ROUTE_ADMIN | ROUTE_RESERVE));
}

/* Queues that belong to no tenant: these are no valid names of tenants. */
#define HEALTH	 "(health)"
#define OPERATOR "(operator)"

/* Administrative requests and health checks must not wait for queries. A tenant's requests for
 * metrics wait for each other only. */
static enum lane lane_of(const struct request *r, struct str *ret_queue)
{
	*ret_queue = r->tenant;
	if (r->route->flags & ROUTE_WRITE)
		return LANE_UPLOADS;
	if (r->route->flags & ROUTE_RESERVE) {
		if (r->route->flags & ROUTE_OPEN || !r->tenant.n)
			*ret_queue = STR(HEALTH);
		return LANE_RESERVE;
	}
	if (!(r->route->flags & ROUTE_ADMIN) || !access_is_operator(r))
		return LANE_QUERIES;
	*ret_queue = STR(OPERATOR);
	return LANE_RESERVE;
}

static void give_to_thread(struct request *r)
{
	struct str queue;
	enum lane lane = lane_of(r, &queue);
	struct fault fault = {0};
	enum err error;

	r->job = (struct job){.run = run_on_thread, .context = r};
	r->job.fair.kind = r->route;
	r->job.fair.deadline_ns =
		has_deadline(r) ? clock_monotonic_ns() + r->server->options.query_timeout_ns
				: INT64_MAX;
	error = workers_give(r->server->workers, lane, queue, &r->job, &fault);
	/* Too many health checks wait: this one looks at memory alone, and may be answered here. */
	if (error == ERR_BUSY && lane == LANE_RESERVE && r->route->flags & ROUTE_OPEN)
		r->route->handle(r);
	else if (error != ERR_OK)
		request_fail(r, error, &fault);
}

/* A body that did not say its length was not counted when it was admitted. */
static void count_rest(struct request *r)
{
	size_t length = r->x->body.n;

	/* It is here: the tenant pays for it later. */
	if (request_brings_data(r) && length > r->announced &&
	    rates_take(r->server->rates, r->tenant, length - r->announced, NULL) != ERR_OK)
		log_debug("over the rate", log_str("tenant", r->tenant));
}

void request_handle(void *context, struct http_exchange *x)
{
	struct request *r = x->user;

	(void)context;
	count_rest(r);
	if (r->route->flags & (ROUTE_WORKER | ROUTE_WRITE | ROUTE_RESERVE))
		give_to_thread(r);
	else
		r->route->handle(r);
}

void request_finished(void *context, struct http_exchange *x)
{
	struct request *r = x->user;

	(void)context;
	if (r)
		memory_hold_release(&r->stored);
}

/* ------------------------------------------------------------------ bodies */

size_t request_max_inflated(const struct request *r)
{
	return request_brings_data(r) ? r->server->options.max_inflated : REQUEST_MAX_QUESTION;
}

void request_count_received(struct request *r, size_t bytes)
{
	atomic_fetch_add(&r->server->metrics.bytes_received, bytes);
	tenant_counts_add(r->server->counts, r->tenant,
			  &(struct tenant_numbers){.received_bytes = bytes});
}

enum err request_body(struct request *r, struct buf *ret_owner, struct str *ret,
		      struct fault *fault)
{
	struct limits limits = LIMITS_DEFAULT;

	limits.max_bytes = request_max_inflated(r);
	buf_init(ret_owner, limits.max_bytes);
	request_count_received(r, r->x->body.n);
	work_scope_use(MEMORY_DECOMPRESSED);
	enum err error = encoding_undo(http_find(r->x, STR("content-encoding")), r->x->body,
				       &limits, ret_owner, ret, fault);

	work_scope_use(r->route->flags & ROUTE_WRITE ? MEMORY_DECODED : MEMORY_WORKING);
	TRY(error);
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
	/* The audited action may be one that frees space. */
	if (error == ERR_NO_SPACE) {
		store_use_reserve(r->server->store);
		error = audit_write(r->server->audit, action, all, 3 + n, fault);
	}
	return error;
}
