/*
 * Replies and errors in the format of each protocol.
 *
 *	gRPC      200, message, trailers grpc-status; an error is a reply of headers alone
 *	gRPC-Web  the same, but trailers are a last frame of the body
 *	Connect   200 and the message as it is; an error is an HTTP status and JSON
 */
#include <stdio.h>

#include "base/base64.h"
#include "base/clock.h"
#include "base/jsonout.h"
#include "server/encoding.h"
#include "server/rpc.h"

#define PREFIX	   5
#define COMPRESSED 0x01
#define TRAILERS   0x80
#define TEXT_MAX   (16u << 10)

#define RETRY_INFO "google.rpc.RetryInfo"

/* Field numbers of google.rpc.Status, RetryInfo, and protobuf's Any and Duration. */
enum { STATUS_CODE = 1, STATUS_MESSAGE = 2, STATUS_DETAILS = 3 };
enum { ANY_TYPE_URL = 1, ANY_VALUE = 2 };
enum { RETRY_DELAY = 1 };
enum { DURATION_SECONDS = 1, DURATION_NANOS = 2 };

static const struct code {
	const char *name;
	int http;
} codes[] = {
	{"ok", 200},
	{"canceled", 499},
	{"unknown", 500},
	{"invalid_argument", 400},
	{"deadline_exceeded", 504},
	{"not_found", 404},
	{"already_exists", 409},
	{"permission_denied", 403},
	{"resource_exhausted", 429},
	{"failed_precondition", 400},
	{"aborted", 409},
	{"out_of_range", 400},
	{"unimplemented", 501},
	{"internal", 500},
	{"unavailable", 503},
	{"data_loss", 500},
	{"unauthenticated", 401},
};

static const struct code *code_of(int grpc_status)
{
	bool known = grpc_status >= 0 && (size_t)grpc_status < sizeof(codes) / sizeof(codes[0]);

	return &codes[known ? grpc_status : 2];
}

const char *rpc_code_name(int grpc_status)
{
	return code_of(grpc_status)->name;
}

int rpc_code_http(int grpc_status)
{
	return code_of(grpc_status)->http;
}

static struct str reply_type(const struct rpc_call *c)
{
	static const struct str types[][2] = {
		[RPC_GRPC] = {STR("application/grpc+proto"), STR("application/grpc+json")},
		[RPC_GRPC_WEB] = {STR("application/grpc-web+proto"),
				  STR("application/grpc-web+json")},
		[RPC_CONNECT] = {STR("application/proto"), STR("application/json")},
	};

	return types[c->protocol][c->json];
}

static void put_prefix(char *at, unsigned char flags, size_t n)
{
	at[0] = (char)flags;
	at[1] = (char)(n >> 24);
	at[2] = (char)(n >> 16);
	at[3] = (char)(n >> 8);
	at[4] = (char)n;
}

static void frame(struct buf *message, bool compressed)
{
	char prefix[PREFIX];

	if (message->n > UINT32_MAX)
		message->error = ERR_TOO_LARGE;
	/* The caller's ceiling was for its own bytes. */
	if (message->ceiling <= SIZE_MAX - PREFIX)
		message->ceiling += PREFIX;
	put_prefix(prefix, compressed ? COMPRESSED : 0, message->n);
	buf_insert(message, 0, prefix, PREFIX);
}

static void append_trailer_frame(struct buf *body)
{
	static const char ok[] = "grpc-status: 0\r\n";
	char prefix[PREFIX];

	if (body->ceiling <= SIZE_MAX - PREFIX - sizeof(ok))
		body->ceiling += PREFIX + sizeof(ok);
	put_prefix(prefix, TRAILERS, sizeof(ok) - 1);
	buf_append(body, prefix, PREFIX);
	buf_append(body, ok, sizeof(ok) - 1);
}

static void put_extra(const struct rpc_call *c, struct http_header *headers, size_t *n)
{
	if (c->extra.name.n)
		headers[(*n)++] = c->extra;
}

static void send(struct rpc_call *c, struct http_response *r)
{
	struct http_exchange *x = c->x;

	rpc_drop_message(c);
	/* The call may be in the exchange's arena, which is invalid after this. */
	http_reply(x, r);
}

void rpc_reply(struct rpc_call *c, struct buf *message)
{
	static const struct http_header ok = {STR("grpc-status"), STR("0")};
	bool connect = c->protocol == RPC_CONNECT, compressed;
	struct http_header headers[4] = {{STR("content-type"), reply_type(c)}};
	struct http_response r = {.status = 200, .headers = headers, .header_count = 1};

	put_extra(c, headers, &r.header_count);
	compressed = encoding_gzip(http_find(c->x, connect ? STR("accept-encoding")
							   : STR("grpc-accept-encoding")),
				   message);
	if (compressed)
		headers[r.header_count++] = (struct http_header){
			connect ? STR("content-encoding") : STR("grpc-encoding"), STR("gzip")};
	if (!connect) {
		headers[r.header_count++] = (struct http_header){STR("grpc-accept-encoding"),
								 STR("identity," ENCODING_KNOWN)};
		frame(message, compressed);
	}
	if (c->protocol == RPC_GRPC) {
		r.trailers = &ok;
		r.trailer_count = 1;
	} else if (c->protocol == RPC_GRPC_WEB) {
		append_trailer_frame(message);
	}
	if (message->error) {
		enum err e = message->error;

		buf_release(message);
		rpc_fail(c, e, "the reply could not be made", 0);
		return;
	}
	r.body = *message;
	*message = BUF_INIT(message->ceiling);
	send(c, &r);
}

static void put_retry_info(struct buf *b, int64_t ns)
{
	size_t delay = pb_begin(b, RETRY_DELAY);

	if (ns >= NS_PER_S)
		pb_put_int(b, DURATION_SECONDS, ns / NS_PER_S);
	if (ns % NS_PER_S)
		pb_put_int(b, DURATION_NANOS, ns % NS_PER_S);
	pb_end(b, delay);
}

/* Data for the headers of an error. */
struct error_text {
	int code;
	const char *text;
	int64_t retry_ns; /* 0: do not retry */
	char digits[16], seconds[24];
	struct buf message, details, body;
};

static void error_text_release(struct error_text *t)
{
	buf_release(&t->message);
	buf_release(&t->details);
	buf_release(&t->body);
}

/* Header values are ASCII: everything else, and the sign itself, is written as %XX. */
static void put_percent(struct buf *b, const char *text)
{
	for (; *text; text++) {
		if (*text >= ' ' && *text <= '~' && *text != '%')
			buf_byte(b, (unsigned char)*text);
		else
			buf_printf(b, "%%%02X", (unsigned char)*text);
	}
}

/* google.rpc.Status in base64, for those who look for RetryInfo. */
static void put_status(struct error_text *t)
{
	CLEANUP(buf_release) struct buf status = BUF_INIT(TEXT_MAX);
	size_t any, value;

	pb_put_int(&status, STATUS_CODE, t->code);
	pb_put_bytes(&status, STATUS_MESSAGE, str_of(t->text));
	any = pb_begin(&status, STATUS_DETAILS);
	pb_put_bytes(&status, ANY_TYPE_URL, STR("type.googleapis.com/" RETRY_INFO));
	value = pb_begin(&status, ANY_VALUE);
	put_retry_info(&status, t->retry_ns);
	pb_end(&status, value);
	pb_end(&status, any);
	if (!status.error)
		base64_put(&t->details, buf_view(&status), false);
}

static size_t grpc_error(struct error_text *t, struct http_header *headers, size_t n)
{
	put_percent(&t->message, t->text);
	if (t->retry_ns)
		put_status(t);
	headers[n++] = (struct http_header){
		STR("grpc-status"),
		str_n(t->digits, (size_t)snprintf(t->digits, sizeof(t->digits), "%d", t->code))};
	/* Without memory the code alone has to do. */
	if (!t->message.error)
		headers[n++] = (struct http_header){STR("grpc-message"), buf_view(&t->message)};
	if (t->details.n && !t->details.error)
		headers[n++] =
			(struct http_header){STR("grpc-status-details-bin"), buf_view(&t->details)};
	headers[n++] =
		(struct http_header){STR("grpc-accept-encoding"), STR("identity," ENCODING_KNOWN)};
	return n;
}

static void connect_error(struct error_text *t)
{
	CLEANUP(buf_release) struct buf info = BUF_INIT(64);
	struct jsonout o = jsonout_of(&t->body, false);

	jsonout_object(&o);
	jsonout_put_text(&o, "code", rpc_code_name(t->code));
	jsonout_put_text(&o, "message", t->text);
	if (t->retry_ns) {
		put_retry_info(&info, t->retry_ns);
		base64_put(&t->details, buf_view(&info), false);
		jsonout_put_array(&o, "details");
		jsonout_object(&o);
		jsonout_put_text(&o, "type", RETRY_INFO);
		jsonout_put_str(&o, "value", buf_view(&t->details));
		jsonout_end_object(&o);
		jsonout_end_array(&o);
	}
	jsonout_end_object(&o);
}

void rpc_fail(struct rpc_call *c, enum err code, const char *text, int64_t retry_ns)
{
	CLEANUP(error_text_release)
	struct error_text t = {.code = err_grpc(code), .text = text ? text : err_text(code)};
	struct http_header headers[6] = {{STR("content-type"), reply_type(c)}};
	struct http_response r = {.status = 200, .headers = headers, .header_count = 1};

	put_extra(c, headers, &r.header_count);
	buf_init(&t.message, TEXT_MAX);
	buf_init(&t.details, TEXT_MAX);
	buf_init(&t.body, TEXT_MAX);
	if (err_retry(code))
		t.retry_ns = retry_ns > 0 ? retry_ns : NS_PER_S;
	if (c->protocol != RPC_CONNECT) {
		r.header_count = grpc_error(&t, headers, r.header_count);
		send(c, &r);
		return;
	}
	headers[0].value = STR("application/json");
	if (t.retry_ns)
		headers[r.header_count++] = (struct http_header){
			STR("retry-after"),
			str_n(t.seconds,
			      (size_t)snprintf(t.seconds, sizeof(t.seconds), "%lld",
					       (long long)((t.retry_ns - 1) / NS_PER_S + 1)))};
	r.status = rpc_code_http(t.code);
	connect_error(&t);
	if (t.body.error) {
		r.static_body = STR("{\"code\":\"resource_exhausted\"}");
	} else {
		r.body = t.body;
		t.body = BUF_INIT(0);
	}
	send(c, &r);
}

void rpc_unknown(struct rpc_call *c)
{
	char text[200];

	snprintf(text, sizeof(text), "no method %.*s/%.*s",
		 c->service.n < 80 ? (int)c->service.n : 80, c->service.n ? c->service.p : "",
		 c->method.n < 80 ? (int)c->method.n : 80, c->method.n ? c->method.p : "");
	rpc_fail(c, ERR_UNSUPPORTED, text, 0);
}
