/* HTTP/2 sessions without sockets, against nghttp2's own client. */
#include "net/http2_client.h"

#include "test.h"

struct site {
	struct driver d;
	struct http2_client c;
	struct buf log; /* what the handlers saw */
	struct http_exchange *held[CLIENT_STREAMS];
	size_t held_n;
	int admitted, finished;
	struct memory_account *account; /* whose memory requests are; NULL = nobody's */
	enum err refused;
};

static bool site_admit(void *context, struct http_exchange *x)
{
	struct site *s = context;

	if (str_starts(x->path, STR("/refuse"))) {
		http_reply_text(x, 401, "text/plain", STR("who?\n"));
		return false;
	}
	s->admitted++;
	x->account = memory_account_keep(s->account);
	return true;
}

static void reply_with_trailers(struct http_exchange *x)
{
	struct http_header headers[] = {{STR("X-A"), STR("1")},
					{STR("x-bad"), STR("1\r\nx-injected: 1")},
					{STR("connection"), STR("close")},
					{STR("Content-Length"), STR("7")}};
	struct http_header trailers[] = {{STR("grpc-status"), STR("0")}};
	struct http_response r = {.status = 200,
				  .headers = headers,
				  .header_count = 4,
				  .trailers = trailers,
				  .trailer_count = 1,
				  .body = BUF_INIT(100)};

	if (str_eq(x->path, STR("/trailers")))
		buf_text(&r.body, "hello");
	http_reply(x, &r);
}

static void site_handle(void *context, struct http_exchange *x)
{
	struct site *s = context;
	struct http_response r = {.status = 200, .body = BUF_INIT(SIZE_MAX)};

	buf_printf(&s->log, "%.*s %.*s?%.*s %.*s %zu;", (int)x->method.n, x->method.p,
		   (int)x->path.n, x->path.p, (int)x->query.n, x->query.n ? x->query.p : "",
		   (int)x->authority.n, x->authority.p, x->body.n);
	if (str_starts(x->path, STR("/hold"))) {
		s->held[s->held_n++] = x;
		return;
	}
	if (str_starts(x->path, STR("/trailers"))) {
		reply_with_trailers(x);
		return;
	}
	if (str_eq(x->path, STR("/nothing")))
		r.status = 204;
	r.close = str_eq(x->path, STR("/last"));
	buf_str(&r.body, x->body.n ? x->body : STR("hello"));
	http_reply(x, &r);
}

static void site_refuse(void *context, struct http_exchange *x, enum err error)
{
	((struct site *)context)->refused = error;
	http_reply_text(x, 429, "text/plain", STR("later\n"));
}

static void site_finished(void *context, struct http_exchange *x)
{
	(void)x;
	((struct site *)context)->finished++;
}

static enum err site_init(struct site *s)
{
	struct http_handlers handlers = {.context = s,
					 .admit = site_admit,
					 .handle = site_handle,
					 .finished = site_finished,
					 .refuse = site_refuse};

	buf_init(&s->log, 1 << 20);
	http2_client_init(&s->c, &s->d);
	return driver_init(&s->d, &handlers, http2_session_new);
}

static void site_release(struct site *s)
{
	for (size_t i = 0; i < s->held_n; i++)
		http_reply_text(s->held[i], 200, "text/plain", STR("late\n"));
	s->held_n = 0;
	driver_release(&s->d);
	http2_client_release(&s->c);
	buf_release(&s->log);
}

static struct client_stream *ask(struct site *s, const char *method, const char *path)
{
	struct client_stream *stream =
		http2_client_ask(&s->c, method, path, "", (struct str){NULL, 0}, false);

	http2_client_run(&s->c);
	return stream;
}

static struct client_stream *post(struct site *s, const char *path, const char *more,
				  struct str body, bool hold)
{
	struct client_stream *stream = http2_client_ask(&s->c, "POST", path, more, body, hold);

	http2_client_run(&s->c);
	return stream;
}

static bool has(const struct buf *b, const char *text)
{
	return str_search(buf_view(b), str_of(text)) < b->n;
}

TEST(a_request_reaches_its_handler_and_is_answered)
{
	CLEANUP(site_release) struct site s = {0};
	struct client_stream *stream;

	CHECK_OK(site_init(&s));
	stream = ask(&s, "GET", "/a/b?c=d&e");
	CHECK_STR(buf_view(&s.log), "GET /a/b?c=d&e test.example 0;");
	CHECK_INT(stream->status, 200);
	CHECK_STR(buf_view(&stream->body), "hello");
	CHECK(has(&stream->headers, "content-length: 5\n") && has(&stream->headers, "date: Thu, "));
	CHECK(stream->ended && stream->closed && stream->reset == 0);
	CHECK_INT(s.finished, 1);
	CHECK_INT(s.d.shared.live_exchanges, 0);
}

static void budget_free(struct memory_budget **b)
{
	memory_budget_free(*b);
}

TEST(a_body_beyond_its_budget_is_refused_and_given_back)
{
	CLEANUP(budget_free) struct memory_budget *b = NULL;
	CLEANUP(buf_release) struct buf body = BUF_INIT(1 << 20);
	struct memory_account *a;

	CHECK_OK(memory_budget_new(1 << 20, &b));
	CHECK_OK(memory_account_get(b, STR("a"), &a));
	for (int i = 0; i < 100000; i++)
		buf_text(&body, "12345678");
	for (int round = 0; round < 2; round++) {
		CLEANUP(site_release) struct site s = {.account = a};
		struct client_stream *stream;

		CHECK_OK(site_init(&s));
		stream = post(&s, "/echo", "", round ? str_n(body.data, 100000) : buf_view(&body),
			      false);
		CHECK_INT(stream->status, round ? 200 : 429);
		CHECK_INT(s.refused, round ? ERR_OK : ERR_BUSY);
		CHECK_INT(s.finished, 1);
	}
	CHECK_INT(memory_account_look(a).used, 0);
	memory_account_put(a);
}

TEST(requests_may_come_byte_by_byte)
{
	CLEANUP(site_release) struct site s = {0};
	struct client_stream *stream;

	CHECK_OK(site_init(&s));
	s.c.step = 1;
	stream = post(&s, "/echo", "x-a: b\n", STR("some bytes"), false);
	CHECK_STR(buf_view(&stream->body), "some bytes");
	CHECK_OK(s.d.error);
}

TEST(large_bodies_go_both_ways_through_the_windows)
{
	CLEANUP(site_release) struct site s = {0};
	CLEANUP(buf_release) struct buf big = BUF_INIT(SIZE_MAX);
	struct client_stream *stream;

	CHECK_OK(site_init(&s));
	for (uint32_t i = 0; i < 5000000; i++)
		buf_append(&big, &i, 4);
	stream = post(&s, "/echo", "", buf_view(&big), false);
	CHECK_INT(stream->status, 200);
	CHECK(str_eq(buf_view(&stream->body), buf_view(&big)));
	/* Once more on the same connection: windows were given back. */
	stream = post(&s, "/echo", "", buf_view(&big), false);
	CHECK(str_eq(buf_view(&stream->body), buf_view(&big)));
}

TEST(head_and_204_have_no_body)
{
	CLEANUP(site_release) struct site s = {0};
	struct client_stream *stream;

	CHECK_OK(site_init(&s));
	stream = ask(&s, "HEAD", "/x");
	CHECK(stream->ended && stream->body.n == 0 && has(&stream->headers, "content-length: 5\n"));
	stream = ask(&s, "GET", "/nothing");
	CHECK_INT(stream->status, 204);
	CHECK(stream->ended && stream->body.n == 0 && !has(&stream->headers, "content-length"));
}

TEST(trailers_follow_the_body_and_foreign_headers_stay_out)
{
	CLEANUP(site_release) struct site s = {0};
	struct client_stream *stream;

	CHECK_OK(site_init(&s));
	stream = ask(&s, "GET", "/trailers");
	CHECK_STR(buf_view(&stream->body), "hello");
	CHECK_STR(buf_view(&stream->trailers), "grpc-status: 0\n");
	CHECK(has(&stream->headers, "x-a: 1\n"));
	CHECK(!has(&stream->headers, "content-length") && !has(&stream->headers, "injected") &&
	      !has(&stream->headers, "connection"));
	stream = ask(&s, "GET", "/trailers-alone");
	CHECK(stream->ended && stream->body.n == 0);
	CHECK_STR(buf_view(&stream->trailers), "grpc-status: 0\n");
}

TEST(heads_beyond_the_limit_are_answered_with_431)
{
	CLEANUP(site_release) struct site s = {.d.options = HTTP_OPTIONS_DEFAULT};
	struct client_stream *stream;
	char more[3000];

	s.d.options.max_head = 2000;
	memset(more, 'x', sizeof(more));
	memcpy(more, "x-long: ", 8);
	more[sizeof(more) - 1] = '\0';
	CHECK_OK(site_init(&s));
	stream = http2_client_ask(&s.c, "GET", "/x", more, (struct str){NULL, 0}, false);
	http2_client_run(&s.c);
	CHECK_INT(stream->status, 431);
	CHECK_INT(s.admitted, 0);
	CHECK_INT(ask(&s, "GET", "/x")->status, 200);
}

TEST(bodies_beyond_the_limit_are_answered_with_413)
{
	CLEANUP(site_release) struct site s = {.d.options = HTTP_OPTIONS_DEFAULT};
	static const char bytes[3000];
	struct client_stream *stream;

	s.d.options.max_body = 2000;
	CHECK_OK(site_init(&s));
	stream = post(&s, "/echo", "content-length: 3000\n", str_n(bytes, 3000), false);
	CHECK_INT(stream->status, 413);
	stream = post(&s, "/echo", "", str_n(bytes, 3000), false);
	CHECK_INT(stream->status, 413);
	stream = post(&s, "/echo", "content-type: application/grpc\n", str_n(bytes, 3000), false);
	CHECK_INT(stream->status, 200);
	CHECK(has(&stream->headers, "grpc-status: 8\n"));
	stream = post(&s, "/echo", "", str_n(bytes, 2000), false);
	CHECK_INT(stream->status, 200);
	CHECK_INT(s.finished, 4);
	CHECK_INT(s.d.shared.live_exchanges, 0);
}

TEST(one_connection_cannot_pile_up_bodies)
{
	CLEANUP(site_release) struct site s = {.d.options = HTTP_OPTIONS_DEFAULT};
	static const char bytes[900];
	int refused = 0;

	s.d.options.max_body = 1000;
	CHECK_OK(site_init(&s));
	for (int i = 0; i < 5; i++)
		(void)post(&s, "/echo", "", str_n(bytes, sizeof(bytes)), true);
	for (int i = 0; i < 5; i++)
		refused += s.c.streams[i].status == 429;
	CHECK_INT(refused, 3);
}

TEST(a_reply_before_the_end_of_a_body_is_heard_and_then_the_stream_ends)
{
	CLEANUP(site_release) struct site s = {0};
	static const char bytes[3 << 20];
	struct client_stream *stream;

	CHECK_OK(site_init(&s));
	stream = post(&s, "/refuse", "", STR("the beginning"), true);
	CHECK(stream->status == 401 && stream->ended && !stream->closed);
	driver_wait(&s.d, 5 * NS_PER_S);
	http2_client_run(&s.c);
	CHECK(stream->closed && stream->reset == NGHTTP2_NO_ERROR);
	/* Somebody who does not stop sending is read for as long, and not for ever. */
	stream = post(&s, "/refuse", "", str_n(bytes, sizeof(bytes)), true);
	CHECK(stream->status == 401 && stream->ended && !stream->closed);
	driver_wait(&s.d, 5 * NS_PER_S);
	http2_client_run(&s.c);
	CHECK(stream->closed);
	CHECK(!s.c.goaway);
}

TEST(a_body_that_comes_too_slowly_is_refused)
{
	CLEANUP(site_release) struct site s = {0};
	struct client_stream *slow, *other;

	CHECK_OK(site_init(&s));
	slow = post(&s, "/echo", "", STR("slow"), true);
	driver_wait(&s.d, 2 * NS_PER_S);
	other = ask(&s, "GET", "/x");
	CHECK_INT(other->status, 200);
	CHECK_INT(slow->status, 0);
	driver_wait(&s.d, 2 * NS_PER_S);
	http2_client_run(&s.c);
	CHECK_INT(slow->status, 408);
	CHECK(!s.d.ended);
	CHECK_INT(atomic_load(&s.d.shared.counters.timeouts), 1);
}

TEST(idle_connections_end_with_goaway)
{
	CLEANUP(site_release) struct site s = {0};

	CHECK_OK(site_init(&s));
	CHECK_INT(ask(&s, "GET", "/x")->status, 200);
	driver_wait(&s.d, s.d.options.idle_timeout_ns - 1);
	CHECK(!s.d.ended);
	driver_wait(&s.d, 2);
	http2_client_run(&s.c);
	CHECK(s.d.ended && s.c.goaway && s.c.goaway_code == NGHTTP2_NO_ERROR);
	CHECK_INT(atomic_load(&s.d.shared.counters.timeouts), 0);
}

TEST(who_says_nothing_after_the_preface_is_not_waited_for)
{
	CLEANUP(site_release) struct site s = {0};

	CHECK_OK(site_init(&s));
	driver_input(&s.d, STR(HTTP2_PREFACE));
	driver_wait(&s.d, s.d.options.head_timeout_ns);
	CHECK(s.d.ended);
	CHECK_INT(atomic_load(&s.d.shared.counters.timeouts), 1);
}

TEST(a_head_that_never_ends_is_not_waited_for)
{
	CLEANUP(site_release) struct site s = {0};

	CHECK_OK(site_init(&s));
	CHECK_INT(ask(&s, "GET", "/x")->status, 200);
	/* HEADERS of stream 3, neither END_STREAM nor END_HEADERS: ":method: GET". */
	driver_input(&s.d, STR("\0\0\1\1\0\0\0\0\3\x82"));
	driver_wait(&s.d, s.d.options.head_timeout_ns);
	CHECK(s.d.ended);
	CHECK_INT(atomic_load(&s.d.shared.counters.timeouts), 1);
}

TEST(other_bytes_than_the_preface_end_the_connection)
{
	CLEANUP(site_release) struct site s = {0};

	CHECK_OK(site_init(&s));
	driver_input(&s.d, STR("PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n"));
	CHECK_ERR(s.d.error, ERR_CORRUPT);
}

TEST(a_reset_tells_whoever_works_for_the_stream)
{
	CLEANUP(site_release) struct site s = {0};
	struct client_stream *stream;

	CHECK_OK(site_init(&s));
	stream = ask(&s, "GET", "/hold");
	CHECK(s.held_n == 1 && !atomic_load(&s.held[0]->gone));
	nghttp2_submit_rst_stream(s.c.ng, 0, stream->id, NGHTTP2_CANCEL);
	http2_client_run(&s.c);
	CHECK(atomic_load(&s.held[0]->gone));
	CHECK_INT(s.finished, 0);
	http_reply_text(s.held[0], 200, "text/plain", STR("for nobody"));
	s.held_n = 0;
	driver_turn(&s.d);
	CHECK_INT(s.finished, 1);
	CHECK_INT(ask(&s, "GET", "/x")->status, 200);
}

TEST(who_only_resets_streams_is_sent_away)
{
	CLEANUP(site_release) struct site s = {0};

	CHECK_OK(site_init(&s));
	(void)ask(&s, "GET", "/x");
	for (int i = 0; i < 300 && !s.c.goaway; i++) {
		struct client_stream *stream = ask(&s, "GET", "/hold");

		nghttp2_submit_rst_stream(s.c.ng, 0, stream->id, NGHTTP2_CANCEL);
		http2_client_run(&s.c);
	}
	CHECK(s.c.goaway && s.c.goaway_code == NGHTTP2_ENHANCE_YOUR_CALM);
	CHECK(s.held_n > 150 && s.held_n < 250);
	CHECK(s.d.ended);
}

TEST(now_and_then_a_reset_is_fine)
{
	CLEANUP(site_release) struct site s = {0};

	CHECK_OK(site_init(&s));
	for (int i = 0; i < 400 && !s.c.goaway; i++) {
		struct client_stream *stream = ask(&s, "GET", "/hold");

		nghttp2_submit_rst_stream(s.c.ng, 0, stream->id, NGHTTP2_CANCEL);
		http2_client_run(&s.c);
		driver_wait(&s.d, 25 * NS_PER_MS);
	}
	CHECK(!s.c.goaway);
}

TEST(a_stop_finishes_what_is_under_way)
{
	CLEANUP(site_release) struct site s = {0};
	struct client_stream *held, *crossing;

	CHECK_OK(site_init(&s));
	held = ask(&s, "GET", "/hold");
	s.d.session->ops->drain(s.d.session);
	/* Sent before the client heard of it: still answered. */
	crossing = http2_client_ask(&s.c, "GET", "/x", "", (struct str){NULL, 0}, false);
	http2_client_run(&s.c);
	CHECK_INT(crossing->status, 200);
	CHECK(s.c.goaway && !s.d.ended);
	http_reply_text(s.held[0], 200, "text/plain", STR("done"));
	s.held_n = 0;
	http2_client_run(&s.c);
	CHECK_STR(buf_view(&held->body), "done");
	CHECK(s.d.ended);
}

TEST(a_stop_does_not_wait_for_a_silent_client)
{
	CLEANUP(site_release) struct site s = {0};

	CHECK_OK(site_init(&s));
	CHECK_INT(ask(&s, "GET", "/x")->status, 200);
	s.d.session->ops->drain(s.d.session);
	driver_turn(&s.d);
	CHECK(!s.d.ended);
	driver_wait(&s.d, NS_PER_S);
	CHECK(s.d.ended);
}

TEST(a_reply_may_end_the_connection)
{
	CLEANUP(site_release) struct site s = {0};

	CHECK_OK(site_init(&s));
	CHECK_INT(ask(&s, "GET", "/last")->status, 200);
	CHECK(s.c.goaway && s.d.ended);
}

TEST(the_end_of_input_still_gets_its_answers)
{
	CLEANUP(site_release) struct site s = {0};
	struct client_stream *held;

	CHECK_OK(site_init(&s));
	held = ask(&s, "GET", "/hold");
	s.d.session->ops->end_of_input(s.d.session);
	CHECK(!s.d.session->closing);
	http_reply_text(s.held[0], 200, "text/plain", STR("done"));
	s.held_n = 0;
	http2_client_run(&s.c);
	CHECK_STR(buf_view(&held->body), "done");
	CHECK(s.d.ended);
}

TEST(expect_is_answered_with_100)
{
	CLEANUP(site_release) struct site s = {0};
	struct client_stream *stream;

	CHECK_OK(site_init(&s));
	stream = post(&s, "/echo", "expect: 100-continue\n", STR("body"), false);
	CHECK(stream->continued);
	CHECK_INT(stream->status, 200);
	CHECK_STR(buf_view(&stream->body), "body");
}

TEST(streams_beyond_the_limit_wait_or_are_refused)
{
	CLEANUP(site_release) struct site s = {.d.options = HTTP_OPTIONS_DEFAULT};

	s.d.options.max_streams = 10;
	CHECK_OK(site_init(&s));
	(void)ask(&s, "GET", "/x");
	for (int i = 0; i < 50; i++)
		(void)ask(&s, "GET", "/hold");
	CHECK_INT(s.held_n, 10);
}

static enum err serve_everything(void)
{
	CLEANUP(site_release) struct site s = {0};
	static const char bytes[100000];
	bool all;

	TRY(site_init(&s));
	(void)http2_client_ask(&s.c, "GET", "/x", "", (struct str){NULL, 0}, false);
	(void)http2_client_ask(&s.c, "GET", "/trailers", "", (struct str){NULL, 0}, false);
	(void)http2_client_ask(&s.c, "POST", "/echo", "", str_n(bytes, sizeof(bytes)), false);
	(void)http2_client_ask(&s.c, "POST", "/refuse", "", STR("body"), false);
	http2_client_run(&s.c);
	all = s.c.streams[0].status == 200 && s.c.streams[1].trailers.n &&
	      s.c.streams[2].body.n == sizeof(bytes) && s.c.streams[3].status == 401;
	return all && !s.log.error ? ERR_OK : ERR_NO_MEMORY;
}

TEST(no_memory_ends_streams_or_connections_and_nothing_else)
{
	ALLOC_SWEEP(serve_everything());
}
