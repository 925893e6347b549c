#include "server/rpc_peer.h"

#include "base/base64.h"
#include "server/encoding.h"
#include "test.h"

#define ECHO "/test.Echo/Echo"

/* What a call with this head and body comes to: ERR_OK when its message reached the handler, which
 * echoes it. */
static bool echo(struct rpc_peer *p)
{
	struct limits limits = LIMITS_DEFAULT;
	struct buf body = BUF_INIT(1 << 20);
	struct rpc_call c;

	limits.max_bytes = 1 << 20;
	if (!rpc_open(&c, &p->x->http) || !rpc_read(&c, &limits))
		return false;
	buf_str(&body, c.message);
	rpc_reply(&c, &body);
	return true;
}

static enum err call(struct rpc_peer *p, const char *head, struct str body)
{
	TRY(rpc_peer_init(p, "POST", ECHO, str_of(head), body));
	(void)echo(p);
	return rpc_peer_replied(p) ? ERR_OK : ERR_INTERNAL;
}

TEST(a_grpc_call_is_framed_both_ways)
{
	CLEANUP(rpc_peer_release) struct rpc_peer p = {0};

	CHECK_OK(call(&p, "content-type: application/grpc\n", STR("\0\0\0\0\5hello")));
	CHECK_INT(p.x->reply.status, 200);
	CHECK(str_eq(rpc_peer_body(&p), STR("\0\0\0\0\5hello")));
	CHECK_STR(rpc_peer_header(&p, "content-type"), "application/grpc+proto");
	CHECK_STR(rpc_peer_find(p.x->reply.trailers, p.x->reply.trailer_count, "grpc-status"), "0");
}

TEST(a_grpc_web_call_has_its_trailers_in_the_body)
{
	CLEANUP(rpc_peer_release) struct rpc_peer p = {0};

	CHECK_OK(call(&p, "content-type: application/grpc-web+proto\n", STR("\0\0\0\0\5hello")));
	CHECK(str_eq(rpc_peer_body(&p), STR("\0\0\0\0\5hello\x80\0\0\0\x10grpc-status: 0\r\n")));
	CHECK_INT(p.x->reply.trailer_count, 0);
}

TEST(a_connect_call_is_its_message)
{
	CLEANUP(rpc_peer_release) struct rpc_peer p = {0}, json = {0};

	CHECK_OK(call(&p, "content-type: application/proto\nconnect-protocol-version: 1\n",
		      STR("hello")));
	CHECK_STR(rpc_peer_body(&p), "hello");
	CHECK_STR(rpc_peer_header(&p, "content-type"), "application/proto");
	CHECK_OK(call(&json, "content-type: Application/JSON; charset=utf-8\n", STR("{}")));
	CHECK_STR(rpc_peer_header(&json, "content-type"), "application/json");
}

TEST(the_path_names_service_and_method)
{
	static const struct {
		const char *path, *prefix, *service, *method;
	} rows[] = {{"/a.v1.B/C", "", "a.v1.B", "C"},
		    {"/x/y/a.v1.B/C", "/x/y", "a.v1.B", "C"},
		    {"/C", "", "", "C"},
		    {"*", "", "", ""}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		CLEANUP(rpc_peer_release) struct rpc_peer p = {0};
		struct rpc_call c;

		CHECK_OK(rpc_peer_init(&p, "POST", rows[i].path,
				       STR("content-type: application/proto\n"), STR("")));
		CHECK(rpc_open(&c, &p.x->http));
		CHECK_STR(c.prefix, rows[i].prefix);
		CHECK_STR(c.service, rows[i].service);
		CHECK_STR(c.method, rows[i].method);
	}
}

TEST(compressed_messages_are_undone)
{
	CLEANUP(buf_release) struct buf gzip = BUF_INIT(1000), zstd = BUF_INIT(1000);
	CLEANUP(rpc_peer_release) struct rpc_peer a = {0}, b = {0}, c = {0}, d = {0};

	buf_append(&gzip, "\1\0\0\0\0", 5);
	CHECK_OK(compress_gzip(STR("hello"), 6, &gzip));
	gzip.data[4] = (char)(gzip.n - 5);
	CHECK_OK(
		call(&a, "content-type: application/grpc\ngrpc-encoding: gzip\n", buf_view(&gzip)));
	CHECK(str_eq(rpc_peer_body(&a), STR("\0\0\0\0\5hello")));
	CHECK_OK(call(&b, "content-type: application/proto\ncontent-encoding: gzip\n",
		      str_skip(buf_view(&gzip), 5)));
	CHECK_STR(rpc_peer_body(&b), "hello");
	CHECK_OK(compress_zstd(STR("hello"), 3, &zstd));
	CHECK_OK(call(&c, "content-type: application/proto\ncontent-encoding: zstd\n",
		      buf_view(&zstd)));
	CHECK_STR(rpc_peer_body(&c), "hello");
	/* The flag decides, not the header; nothing is nothing. */
	CHECK_OK(call(&d, "content-type: application/grpc\ngrpc-encoding: gzip\n",
		      STR("\1\0\0\0\0")));
	CHECK(str_eq(rpc_peer_body(&d), STR("\0\0\0\0\0")));
}

static const struct wrong {
	const char *head;
	struct str body;
	const char *status; /* of gRPC */
} wrong[] = {
	{"content-type: application/grpc\n", STR(""), "12"},
	{"content-type: application/grpc\n", STR("\0\0\0"), "3"},
	{"content-type: application/grpc\n", STR("\0\0\0\0\6hello"), "3"},
	{"content-type: application/grpc\n", STR("\0\xff\xff\xff\xffhello"), "3"},
	{"content-type: application/grpc\n", STR("\0\0\0\0\1ab"), "12"},
	{"content-type: application/grpc\n", STR("\2\0\0\0\5hello"), "3"},
	{"content-type: application/grpc\n", STR("\1\0\0\0\5hello"), "3"},
	{"content-type: application/grpc\ngrpc-encoding: gzip\n", STR("\1\0\0\0\5hello"), "3"},
	{"content-type: application/grpc\ngrpc-encoding: br\n", STR("\1\0\0\0\5hello"), "12"},
	{"content-type: application/grpc\ngrpc-timeout: 1\n", STR("\0\0\0\0\0"), "3"},
	{"content-type: application/grpc\ngrpc-timeout: -1S\n", STR("\0\0\0\0\0"), "3"},
	{"content-type: application/grpc\ngrpc-timeout: 123456789S\n", STR("\0\0\0\0\0"), "3"},
	{"content-type: application/grpc\ngrpc-timeout: 0n\n", STR("\0\0\0\0\0"), "4"},
	{"content-type: application/grpc-web\n", STR("\x80\0\0\0\0"), "3"},
};

TEST(wrong_frames_encodings_and_timeouts_are_refused)
{
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		CLEANUP(rpc_peer_release) struct rpc_peer p = {0};

		CHECK_OK(call(&p, wrong[i].head, wrong[i].body));
		CHECK_INT(p.x->reply.status, 200);
		CHECK_STR(rpc_peer_header(&p, "grpc-status"), wrong[i].status);
		CHECK(rpc_peer_header(&p, "grpc-message").n > 0);
		CHECK_INT(p.x->reply.trailer_count, 0);
	}
}

TEST(a_bomb_is_refused)
{
	CLEANUP(buf_release) struct buf zeros = BUF_INIT(1 << 24), packed = BUF_INIT(1 << 24);
	CLEANUP(rpc_peer_release) struct rpc_peer p = {0};

	memset(buf_reserve(&zeros, 8 << 20), 0, 8 << 20);
	zeros.n = 8 << 20;
	CHECK_OK(compress_gzip(buf_view(&zeros), 6, &packed));
	CHECK_OK(call(&p, "content-type: application/proto\ncontent-encoding: gzip\n",
		      buf_view(&packed)));
	CHECK_INT(p.x->reply.status, 429);
	CHECK(str_starts(rpc_peer_body(&p), STR("{\"code\":\"resource_exhausted\"")));
	CHECK(!rpc_peer_header(&p, "retry-after").p);
}

TEST(other_methods_and_content_types_are_told_what_is_taken)
{
	CLEANUP(rpc_peer_release) struct rpc_peer get = {0}, text = {0}, none = {0}, version = {0};

	CHECK_OK(rpc_peer_init(&get, "GET", ECHO, STR("content-type: application/proto\n"),
			       STR("")));
	CHECK(!echo(&get) && rpc_peer_replied(&get));
	CHECK_INT(get.x->reply.status, 405);
	CHECK_STR(rpc_peer_header(&get, "allow"), "POST");
	CHECK_OK(call(&text, "content-type: application/grpc+thrift\n", STR("")));
	CHECK_INT(text.x->reply.status, 415);
	CHECK(rpc_peer_header(&text, "accept-post").n > 0);
	CHECK_OK(call(&none, "", STR("")));
	CHECK_INT(none.x->reply.status, 415);
	CHECK_OK(call(&version, "content-type: application/json\nconnect-protocol-version: 2\n",
		      STR("")));
	CHECK_INT(version.x->reply.status, 400);
}

TEST(timeouts_become_deadlines)
{
	static const struct {
		const char *head;
		int64_t ns;
	} rows[] = {
		{"content-type: application/grpc\ngrpc-timeout: 2H\n", 7200 * NS_PER_S},
		{"content-type: application/grpc\ngrpc-timeout: 3M\n", 180 * NS_PER_S},
		{"content-type: application/grpc\ngrpc-timeout: 99999999S\n", 99999999 * NS_PER_S},
		{"content-type: application/grpc\ngrpc-timeout: 5m\n", 5 * NS_PER_MS},
		{"content-type: application/grpc\ngrpc-timeout: 6u\n", 6000},
		{"content-type: application/grpc\ngrpc-timeout: 7n\n", 7},
		{"content-type: application/json\nconnect-timeout-ms: 1500\n", 1500 * NS_PER_MS},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		CLEANUP(rpc_peer_release) struct rpc_peer p = {0};
		struct rpc_call c;

		CHECK_OK(rpc_peer_init(&p, "POST", ECHO, str_of(rows[i].head), STR("")));
		CHECK(rpc_open(&c, &p.x->http));
		CHECK_INT(c.deadline_ns - p.x->http.started_ns, rows[i].ns);
	}
	{
		CLEANUP(rpc_peer_release) struct rpc_peer p = {0};
		struct rpc_call c;

		CHECK_OK(rpc_peer_init(&p, "POST", ECHO,
				       STR("content-type: application/grpc\n"
					   "grpc-timeout: 99999999H\n"),
				       STR("")));
		CHECK(rpc_open(&c, &p.x->http) && c.deadline_ns == INT64_MAX);
		CHECK(!rpc_is_late(&c));
		atomic_store(&p.x->http.gone, true);
		CHECK(rpc_is_late(&c));
	}
}

static enum err fail(struct rpc_peer *p, const char *type, enum err code, const char *text,
		     int64_t retry_ns)
{
	struct rpc_call c;

	TRY(rpc_peer_init(p, "POST", ECHO, str_of(type), STR("")));
	if (!rpc_open(&c, &p->x->http))
		return ERR_INTERNAL;
	rpc_fail(&c, code, text, retry_ns);
	return rpc_peer_replied(p) ? ERR_OK : ERR_INTERNAL;
}

TEST(errors_of_grpc_are_headers_alone)
{
	CLEANUP(rpc_peer_release) struct rpc_peer p = {0}, retry = {0};
	uint8_t details[200];
	size_t n;

	CHECK_OK(fail(&p, "content-type: application/grpc\n", ERR_NOT_FOUND, "no \"Größe\" 5%\n",
		      0));
	CHECK_STR(rpc_peer_header(&p, "grpc-status"), "5");
	CHECK_STR(rpc_peer_header(&p, "grpc-message"), "no \"Gr%C3%B6%C3%9Fe\" 5%25%0A");
	CHECK(!rpc_peer_header(&p, "grpc-status-details-bin").p && rpc_peer_body(&p).n == 0);
	CHECK_OK(fail(&retry, "content-type: application/grpc\n", ERR_BUSY, "later",
		      1500 * NS_PER_MS));
	CHECK_STR(rpc_peer_header(&retry, "grpc-status"), "8");
	CHECK(base64_decode(rpc_peer_header(&retry, "grpc-status-details-bin"), details, &n));
	CHECK(str_eq(str_n(details, n),
		     STR("\x08\x08\x12\5later\x1a\x36\x0a\x28type.googleapis.com/"
			 "google.rpc.RetryInfo\x12\x0a\x0a\x08\x08\1\x10\x80\xca\xb5\xee\1")));
}

TEST(errors_of_connect_are_json_with_their_status)
{
	CLEANUP(rpc_peer_release) struct rpc_peer p = {0}, retry = {0};

	CHECK_OK(fail(&p, "content-type: application/proto\n", ERR_NOT_FOUND, "no \"x\"", 0));
	CHECK_INT(p.x->reply.status, 404);
	CHECK_STR(rpc_peer_header(&p, "content-type"), "application/json");
	CHECK_STR(rpc_peer_body(&p), "{\"code\":\"not_found\",\"message\":\"no \\\"x\\\"\"}");
	CHECK_OK(fail(&retry, "content-type: application/json\n", ERR_UNAVAILABLE, NULL,
		      1500 * NS_PER_MS));
	CHECK_INT(retry.x->reply.status, 503);
	CHECK_STR(rpc_peer_header(&retry, "retry-after"), "2");
	CHECK(str_search(rpc_peer_body(&retry), STR("\"google.rpc.RetryInfo\",\"value\":\"Cg")) <
	      rpc_peer_body(&retry).n);
}

TEST(every_error_has_a_code_in_every_protocol)
{
	for (int e = ERR_OK + 1; e < ERR_COUNT_; e++) {
		CLEANUP(rpc_peer_release) struct rpc_peer grpc = {0}, connect = {0};

		CHECK_OK(fail(&grpc, "content-type: application/grpc\n", (enum err)e, NULL, 0));
		CHECK(rpc_peer_header(&grpc, "grpc-status").n > 0);
		CHECK((rpc_peer_header(&grpc, "grpc-status-details-bin").n > 0) ==
		      err_retry((enum err)e));
		CHECK_OK(fail(&connect, "content-type: application/json\n", (enum err)e, NULL, 0));
		CHECK(connect.x->reply.status >= 400);
	}
	CHECK(!strcmp(rpc_code_name(16), "unauthenticated") && rpc_code_http(16) == 401);
	CHECK(!strcmp(rpc_code_name(99), "unknown") && rpc_code_http(-1) == 500);
}

TEST(large_replies_are_compressed_for_those_who_take_it)
{
	static const struct {
		const char *head;
		bool packed;
	} rows[] = {
		{"content-type: application/proto\naccept-encoding: br, gzip\n", true},
		{"content-type: application/proto\naccept-encoding: *\n", true},
		{"content-type: application/proto\naccept-encoding: gzip;q=0, *\n", false},
		{"content-type: application/proto\naccept-encoding: br\n", false},
		{"content-type: application/proto\n", false},
	};
	char text[5000];

	memset(text, 'x', sizeof(text));
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		CLEANUP(rpc_peer_release) struct rpc_peer p = {0};

		CHECK_OK(call(&p, rows[i].head, str_n(text, sizeof(text))));
		CHECK((rpc_peer_header(&p, "content-encoding").n > 0) == rows[i].packed);
		CHECK((rpc_peer_body(&p).n < 1000) == rows[i].packed);
	}
	{
		CLEANUP(rpc_peer_release) struct rpc_peer p = {0};
		CLEANUP(buf_release) struct buf frame = BUF_INIT(6000);

		buf_append(&frame, "\0\0\0\x13\x88", 5);
		buf_append(&frame, text, sizeof(text));
		CHECK_OK(call(&p,
			      "content-type: application/grpc\n"
			      "grpc-accept-encoding: identity,deflate,gzip\n",
			      buf_view(&frame)));
		CHECK_STR(rpc_peer_header(&p, "grpc-encoding"), "gzip");
		CHECK(rpc_peer_body(&p).n < 1000 && rpc_peer_body(&p).p[0] == 1);
	}
}

static enum err one_of_each(const char *head, struct str body, bool fails)
{
	CLEANUP(rpc_peer_release) struct rpc_peer p = {0};

	if (fails)
		TRY(fail(&p, head, ERR_BUSY, "later", 0));
	else
		TRY(call(&p, head, body));
	/* Without memory there is no reply, or one that says so. */
	return p.x->reply.status == 0 || p.x->reply.status >= 500 ? ERR_NO_MEMORY : ERR_OK;
}

TEST(no_memory_fails_the_call_alone)
{
	ALLOC_SWEEP(one_of_each("content-type: application/grpc\n", STR("\0\0\0\0\5hello"), false));
	ALLOC_SWEEP(one_of_each("content-type: application/grpc\n", STR("\1\0\0\0\5hello"), false));
	ALLOC_SWEEP(
		one_of_each("content-type: application/grpc-web\n", STR("\0\0\0\0\5hello"), false));
	ALLOC_SWEEP(one_of_each("content-type: application/json\n", STR("{}"), false));
	ALLOC_SWEEP(one_of_each("content-type: application/grpc\n", STR(""), true));
	ALLOC_SWEEP(one_of_each("content-type: application/json\n", STR(""), true));
}
