/*
 * Routes that bring profiles and spans: Pyroscope's /ingest and Push, OTLP over HTTP and gRPC, and
 * uploads of any format.
 */
#include "server/upload.h"

#include "server/otlp_reply.h"
#include "server/routes.h"
#include "server/rpc_route.h"

/* ------------------------------------------------------------------ Pyroscope's /ingest */

static void reply_nothing(struct upload *u)
{
	struct request *r = u->request;

	notes_release(&u->receive.result.notes);
	request_reply_empty(r, 200);
}

static void handle_ingest(struct request *r)
{
	struct http_exchange *x = r->x;
	struct upload *u = upload_begin(r, reply_nothing);
	struct fault fault = {0};
	enum err error;

	if (!u)
		return;
	struct ingest_request in = {
		.name = http_param(x, STR("name")),
		.from = http_param(x, STR("from")),
		.until = http_param(x, STR("until")),
		.format = http_param(x, STR("format")),
		.sample_rate = http_param(x, STR("sampleRate")),
		.spy_name = http_param(x, STR("spyName")),
		.units = http_param(x, STR("units")),
		.aggregation_type = http_param(x, STR("aggregationType")),
		.content_type = http_find(x, STR("content-type")),
	};
	error = request_body(r, &u->plain, &in.body, &fault);
	if (error == ERR_OK)
		error = receive_ingest(&u->receive, &in, &fault);
	upload_end(u, error, &fault);
}

/* ------------------------------------------------------------------ calls that bring data */

static void reply_rpc(struct upload *u)
{
	struct buf out = BUF_INIT(4096);
	struct rpc_call *c = u->request->call;

	notes_release(&u->receive.result.notes);
	if (c->json)
		buf_text(&out, "{}");
	rpc_reply(c, &out);
	buf_release(&out);
}

static bool brings_spans(const struct request *r)
{
	return str_search(r->x->path, STR("trace")) < r->x->path.n;
}

static void reply_rpc_otlp(struct upload *u)
{
	struct buf out = BUF_INIT(8192);
	struct rpc_call *c = u->request->call;

	otlp_reply_write(&u->receive.result, brings_spans(u->request), c->json, &out);
	notes_release(&u->receive.result.notes);
	rpc_reply(c, &out);
	buf_release(&out);
}

typedef enum err receiver(struct receive *r, struct str body, bool json, struct fault *fault);

static void receive_call(struct request *r, receiver *receive, void (*reply)(struct upload *))
{
	struct rpc_call *c = rpc_route_read(r);
	struct upload *u = c ? upload_begin(r, reply) : NULL;
	struct fault fault = {0};

	if (!u)
		return;
	request_count_received(r, r->x->body.n);
	atomic_fetch_add(&r->server->metrics.bytes_inflated, c->message.n);
	enum err error = receive(&u->receive, c->message, c->json, &fault);

	rpc_drop_message(c);
	upload_end(u, error, &fault);
}

static void handle_push(struct request *r)
{
	receive_call(r, receive_push, reply_rpc);
}

static void handle_profiles_call(struct request *r)
{
	receive_call(r, receive_otlp_profiles, reply_rpc_otlp);
}

static void handle_traces_call(struct request *r)
{
	receive_call(r, receive_otlp_traces, reply_rpc_otlp);
}

/* ------------------------------------------------------------------ OTLP over HTTP */

static bool is_json(const struct http_exchange *x)
{
	return str_starts(http_find(x, STR("content-type")), STR("application/json"));
}

static void reply_http_otlp(struct upload *u)
{
	struct buf out = BUF_INIT(8192);
	struct request *r = u->request;
	bool json = is_json(r->x);

	otlp_reply_write(&u->receive.result, brings_spans(r), json, &out);
	notes_release(&u->receive.result.notes);
	request_reply(r, 200, json ? "application/json" : "application/x-protobuf", &out);
}

static enum err check_otlp_type(const struct http_exchange *x, struct fault *fault)
{
	struct str type = http_find(x, STR("content-type"));

	if (str_starts(type, STR("application/x-protobuf")) ||
	    str_starts(type, STR("application/protobuf")) || is_json(x))
		return ERR_OK;
	return fault_set(
		fault, ERR_UNSUPPORTED,
		"OTLP comes as application/x-protobuf or application/json, not as \"%.*s\"",
		(int)(type.n < 60 ? type.n : 60), type.n ? type.p : "");
}

static void receive_http(struct request *r, receiver *receive)
{
	struct upload *u = upload_begin(r, reply_http_otlp);
	struct fault fault = {0};
	struct str body;
	enum err error;

	if (!u)
		return;
	error = check_otlp_type(r->x, &fault);
	if (error == ERR_OK)
		error = request_body(r, &u->plain, &body, &fault);
	if (error == ERR_OK)
		error = receive(&u->receive, body, is_json(r->x), &fault);
	upload_end(u, error, &fault);
}

static void handle_profiles(struct request *r)
{
	receive_http(r, receive_otlp_profiles);
}

static void handle_traces(struct request *r)
{
	receive_http(r, receive_otlp_traces);
}

#define OTLP_PROFILES "/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export"
#define OTLP_TRACES   "/opentelemetry.proto.collector.trace.v1.TraceService/Export"

const struct route ingest_routes[] = {
	{"POST", "/ingest", ROUTE_WRITE, "ingest", handle_ingest, NULL},
	{"POST", "/push.v1.PusherService/Push", ROUTE_WRITE | ROUTE_RPC, "push", handle_push, NULL},
	{"POST", "/v1development/profiles", ROUTE_WRITE, "otlp_http", handle_profiles, NULL},
	{"POST", "/v1/profiles", ROUTE_WRITE, "otlp_http", handle_profiles, NULL},
	{"POST", "/v1/traces", ROUTE_WRITE, "otlp_traces_http", handle_traces, NULL},
	{"POST", OTLP_PROFILES, ROUTE_WRITE | ROUTE_RPC, "otlp_grpc", handle_profiles_call, NULL},
	{"POST", OTLP_TRACES, ROUTE_WRITE | ROUTE_RPC, "otlp_traces_grpc", handle_traces_call,
	 NULL},
	{0},
};
