/* HTTP/1.1 sessions without sockets. */
#include "net/session_driver.h"

#include "test.h"

struct site {
	struct driver d;
	struct buf log; /* what the handlers saw */
	struct http_exchange *held;
	int admitted, finished;
	struct memory_account *account; /* whose memory requests are; NULL = nobody's */
	enum err refused;
	size_t max_body; /* admit sets it when not 0 */
};

static bool site_admit(void *context, struct http_exchange *x)
{
	struct site *s = context;

	if (s->max_body)
		x->max_body = s->max_body;
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
	struct http_header headers[] = {{STR("x-a"), STR("1")},
					{STR("x-bad"), STR("1\r\nx-injected: 1")},
					{STR("Content-Length"), STR("7")}};
	struct http_header trailers[] = {{STR("grpc-status"), STR("0")},
					 {STR("grpc-message"), STR("")}};
	struct http_response r = {.status = 200,
				  .headers = headers,
				  .header_count = 3,
				  .trailers = trailers,
				  .trailer_count = 2,
				  .body = BUF_INIT(100)};

	buf_text(&r.body, "hello");
	http_reply(x, &r);
}

static void site_handle(void *context, struct http_exchange *x)
{
	struct site *s = context;
	struct http_response r = {.status = 204, .body = BUF_INIT(SIZE_MAX)};

	buf_printf(&s->log, "%.*s %.*s %.*s;", (int)x->method.n, x->method.p, (int)x->path.n,
		   x->path.p, (int)x->body.n, x->body.n ? x->body.p : "");
	if (str_eq(x->path, STR("/hold"))) {
		s->held = x;
		return;
	}
	if (str_eq(x->path, STR("/trailers"))) {
		reply_with_trailers(x);
		return;
	}
	if (str_eq(x->path, STR("/close")))
		r.close = true;
	if (str_eq(x->path, STR("/echo"))) {
		r.status = 200;
		buf_str(&r.body, x->body);
	}
	http_reply(x, &r);
}

static void site_refuse(void *context, struct http_exchange *x, enum err error)
{
	struct site *s = context;

	s->refused = error;
	http_reply_text(x, 429, "text/plain", STR("later\n"));
}

static void site_finished(void *context, struct http_exchange *x)
{
	struct site *s = context;

	(void)x;
	s->finished++;
}

static enum err site_init(struct site *s)
{
	struct http_handlers handlers = {.context = s,
					 .admit = site_admit,
					 .handle = site_handle,
					 .finished = site_finished,
					 .refuse = site_refuse};

	buf_init(&s->log, SIZE_MAX);
	return driver_init(&s->d, &handlers, http1_session_new);
}

static void site_release(struct site *s)
{
	if (s->held)
		http_reply_text(s->held, 200, "text/plain", STR("late\n"));
	driver_release(&s->d);
	buf_release(&s->log);
}

static void site_send(struct site *s, const char *text)
{
	driver_input(&s->d, str_of(text));
}

/* The status of the n-th reply (from 0), 0 when there is none. */
static int status_of(const struct site *s, int n)
{
	struct str rest = buf_view(&s->d.sent);
	uint64_t status = 0;
	size_t at;

	while ((at = str_search(rest, STR("HTTP/1.1 "))) < rest.n) {
		rest = str_skip(rest, at + 9);
		if (n-- == 0)
			return rest.n >= 3 && !str_to_u64(str_n(rest.p, 3), 10, &status)
				       ? (int)status
				       : 0;
	}
	return 0;
}

static bool sent(const struct site *s, const char *text)
{
	return str_search(buf_view(&s->d.sent), str_of(text)) < s->d.sent.n;
}

#define REQUESTS                                                               \
	"GET /a HTTP/1.1\r\nHost: h\r\n\r\n"                                   \
	"POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhello"     \
	"\r\nPOST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n" \
	"\r\n5;x\r\nchunk\r\n1\r\ns\r\n0\r\nX: y\r\n\r\n"                      \
	"POST /refuse HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\nGET "    \
	"HEAD /echo HTTP/1.1\r\nHost: h\r\n\r\n"                               \
	"GET /trailers HTTP/1.1\r\nHost: h\r\n\r\n"                            \
	"GET /echo HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"                 \
	"GET /close HTTP/1.1\r\nHost: h\r\n\r\n"
#define SEEN                                                                                    \
	"GET /a ;POST /echo hello;POST /echo chunks;HEAD /echo ;GET /trailers ;GET /echo ;GET " \
	"/close ;"

TEST(pipelined_requests_are_answered_in_order_however_they_are_split)
{
	CLEANUP(site_release) struct site whole = {0};
	struct str text = STR(REQUESTS);

	CHECK_OK(site_init(&whole));
	site_send(&whole, REQUESTS);
	CHECK_STR(buf_view(&whole.log), SEEN);
	CHECK(whole.d.ended && !whole.d.error);
	CHECK_INT(status_of(&whole, 0), 204);
	CHECK_INT(status_of(&whole, 1), 200);
	CHECK_INT(status_of(&whole, 3), 401);
	CHECK_INT(status_of(&whole, 7), 204);
	CHECK_INT(status_of(&whole, 8), 0);
	CHECK_INT(whole.finished, whole.admitted);
	for (size_t at = 1; at < text.n; at++) {
		CLEANUP(site_release) struct site s = {0};

		CHECK_OK(site_init(&s));
		driver_input(&s.d, str_n(text.p, at));
		driver_input(&s.d, str_skip(text, at));
		CHECK_STR(buf_view(&s.log), SEEN);
		CHECK_STR(buf_view(&s.d.sent), whole.d.sent.data);
		CHECK_INT(s.d.shared.live_exchanges, 0);
	}
	for (size_t step = 1; step < 40; step++) {
		CLEANUP(site_release) struct site s = {0};

		CHECK_OK(site_init(&s));
		for (size_t at = 0; at < text.n; at += step)
			driver_input(&s.d,
				     str_n(text.p + at, text.n - at < step ? text.n - at : step));
		CHECK_STR(buf_view(&s.d.sent), whole.d.sent.data);
	}
}

TEST(replies_are_framed_by_us_alone)
{
	CLEANUP(site_release) struct site s = {0};

	CHECK_OK(site_init(&s));
	site_send(&s, "GET /trailers HTTP/1.1\r\nHost: h\r\n\r\n");
	CHECK_STR(
		buf_view(&s.d.sent),
		"HTTP/1.1 200 OK\r\nServer: vestal\r\nDate: Thu, 01 Jan 1970 00:00:00 GMT\r\n"
		"Transfer-Encoding: chunked\r\nTrailer: grpc-status, grpc-message\r\nx-a: 1\r\n\r\n"
		"5\r\nhello\r\n0\r\ngrpc-status: 0\r\ngrpc-message: \r\n\r\n");
	buf_clear(&s.d.sent);
	site_send(&s, "GET /trailers HTTP/1.0\r\n\r\n");
	CHECK(sent(&s, "Content-Length: 5\r\nConnection: close\r\nx-a: 1\r\n\r\nhello"));
	CHECK(!sent(&s, "grpc") && !sent(&s, "injected") && s.d.ended);
}

TEST(nothing_is_read_while_a_handler_works)
{
	CLEANUP(site_release) struct site s = {0};
	struct http_exchange *held;

	CHECK_OK(site_init(&s));
	site_send(&s,
		  "GET /hold HTTP/1.1\r\nHost: h\r\n\r\nGET /a HTTP/1.1\r\nHost: h\r\n\r\nGET /b");
	CHECK(s.d.session->paused && s.held);
	CHECK_STR(buf_view(&s.log), "GET /hold ;");
	CHECK(s.d.session->deadline_ns == SESSION_NEVER);
	held = s.held;
	s.held = NULL;
	http_reply_text(held, 200, "text/plain", STR("done"));
	driver_turn(&s.d);
	CHECK_STR(buf_view(&s.log), "GET /hold ;GET /a ;");
	CHECK(!s.d.session->paused);
	CHECK_INT(status_of(&s, 1), 204);
	site_send(&s, " HTTP/1.1\r\nHost: h\r\n\r\n");
	CHECK_STR(buf_view(&s.log), "GET /hold ;GET /a ;GET /b ;");
}

TEST(continue_is_said_only_after_the_request_was_admitted)
{
	CLEANUP(site_release) struct site yes = {0}, no = {0}, early = {0}, large = {0};

	CHECK_OK(site_init(&yes));
	site_send(&yes, "POST /echo HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\n"
			"Content-Length: 2\r\n\r\n");
	CHECK_STR(buf_view(&yes.d.sent), "HTTP/1.1 100 Continue\r\n\r\n");
	site_send(&yes, "hi");
	CHECK_INT(status_of(&yes, 1), 200);
	CHECK(!yes.d.ended);

	CHECK_OK(site_init(&no));
	site_send(&no, "POST /refuse HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\n"
		       "Content-Length: 2\r\n\r\n");
	CHECK_INT(status_of(&no, 0), 401);
	CHECK(no.d.ended && no.d.session->linger && sent(&no, "Connection: close"));

	CHECK_OK(site_init(&early));
	site_send(&early, "POST /echo HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\n"
			  "Content-Length: 2\r\n\r\nhi");
	CHECK_INT(status_of(&early, 0), 200);

	large.max_body = 10;
	CHECK_OK(site_init(&large));
	site_send(&large, "POST /echo HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\n"
			  "Content-Length: 11\r\n\r\n");
	CHECK_INT(status_of(&large, 0), 413);
	CHECK_INT(large.finished, 1);
}

TEST(bodies_beyond_the_ceiling_are_refused_without_being_read)
{
	CLEANUP(site_release) struct site counted = {.max_body = 10}, chunked = {.max_body = 10};

	CHECK_OK(site_init(&counted));
	site_send(&counted,
		  "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\n0123456789");
	CHECK_INT(status_of(&counted, 0), 200);
	site_send(&counted, "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 11\r\n\r\n");
	CHECK_INT(status_of(&counted, 1), 413);
	CHECK(counted.d.ended && counted.d.session->linger);

	CHECK_OK(site_init(&chunked));
	site_send(&chunked, "POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
			    "a\r\n0123456789\r\n");
	CHECK_INT(status_of(&chunked, 0), 0);
	site_send(&chunked, "1\r\n0");
	CHECK_INT(status_of(&chunked, 0), 413);
	CHECK_INT(chunked.finished, 1);
	CHECK_STR(buf_view(&chunked.log), "");
}

TEST(long_unwanted_bodies_end_the_connection)
{
	CLEANUP(site_release) struct site s = {0};

	CHECK_OK(site_init(&s));
	site_send(&s, "POST /refuse HTTP/1.1\r\nHost: h\r\nContent-Length: 1000000\r\n\r\nabc");
	CHECK_INT(status_of(&s, 0), 401);
	CHECK(s.d.ended && s.d.session->linger && sent(&s, "Connection: close"));
	CHECK_INT(s.finished, 0);
}

TEST(heads_beyond_the_ceiling_are_refused)
{
	CLEANUP(site_release) struct site s = {0}, endless = {0};

	s.d.options = endless.d.options = HTTP_OPTIONS_DEFAULT;
	s.d.options.max_head = endless.d.options.max_head = 100;
	CHECK_OK(site_init(&s));
	for (int i = 0; i < 20 && !s.d.ended; i++)
		site_send(&s, i ? "X: 0123456789\r\n" : "GET / HTTP/1.1\r\n");
	CHECK_INT(status_of(&s, 0), 431);
	CHECK_OK(site_init(&endless));
	for (int i = 0; i < 200 && !endless.d.ended; i++)
		site_send(&endless, "x");
	CHECK_INT(status_of(&endless, 0), 431);
	CHECK_INT(endless.d.shared.counters.protocol_errors, 1);
}

static void budget_free(struct memory_budget **b)
{
	memory_budget_free(*b);
}

TEST(what_a_body_and_its_reply_take_is_charged_and_given_back)
{
	CLEANUP(budget_free) struct memory_budget *b = NULL;
	struct memory_account *a;
	char part[10001];

	CHECK_OK(memory_budget_new(4 << 20, &b));
	CHECK_OK(memory_account_get(b, STR("a"), &a));
	memset(part, 'x', 10000);
	part[10000] = '\0';
	for (int chunked = 0; chunked < 2; chunked++) {
		CLEANUP(site_release) struct site s = {.account = a};
		size_t peak = memory_account_look(a).peak;

		CHECK_OK(site_init(&s));
		site_send(&s, chunked ? "POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: "
					"chunked\r\n\r\nF4240\r\n"
				      : "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: "
					"1000000\r\n\r\n");
		CHECK_INT(memory_account_look(a).by_use[MEMORY_RECEIVED], 0);
		for (int i = 0; i < 100; i++) {
			CHECK(memory_account_look(a).by_use[MEMORY_RECEIVED] <
			      600000 + (size_t)i * 15000);
			site_send(&s, part);
		}
		site_send(&s, chunked ? "\r\n0\r\n\r\n" : "");
		CHECK_INT(status_of(&s, 0), 200);
		CHECK(memory_account_look(a).peak >= 2000000 || peak);
	}
	CHECK_INT(memory_account_look(a).used, 0);
	memory_account_put(a);
}

TEST(a_body_beyond_its_budget_is_refused_in_the_handlers_words)
{
	CLEANUP(budget_free) struct memory_budget *b = NULL;
	struct memory_account *a;
	char part[10001];

	CHECK_OK(memory_budget_new(1 << 20, &b));
	CHECK_OK(memory_account_get(b, STR("a"), &a));
	memset(part, 'x', 10000);
	part[10000] = '\0';
	for (int chunked = 0; chunked < 2; chunked++) {
		CLEANUP(site_release) struct site s = {.account = a};
		int sent = 0;

		CHECK_OK(site_init(&s));
		site_send(&s, chunked ? "POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: "
					"chunked\r\n\r\nF4240\r\n"
				      : "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: "
					"1000000\r\n\r\n");
		while (sent++ < 100 && !s.d.ended)
			site_send(&s, part);
		CHECK(sent > 20 && sent < 60);
		CHECK_INT(status_of(&s, 0), 429);
		CHECK_INT(s.refused, ERR_BUSY);
		CHECK_INT(s.finished, 1);
		CHECK_INT(memory_account_look(a).used, 0);
	}
	memory_account_put(a);
}

TEST(slow_heads_and_bodies_run_out_of_time)
{
	CLEANUP(site_release) struct site head = {0}, body = {0}, steady = {0}, quiet = {0};

	CHECK_OK(site_init(&head));
	for (int i = 0; i < 12 && !head.d.ended; i++) {
		site_send(&head, "x");
		driver_wait(&head.d, NS_PER_S);
	}
	CHECK_INT(status_of(&head, 0), 408);

	CHECK_OK(site_init(&body));
	site_send(&body, "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 100000\r\n\r\n");
	for (int i = 0; i < 10 && !body.d.ended; i++) {
		CHECK(i < 3);
		site_send(&body, "0123456789");
		driver_wait(&body.d, NS_PER_S);
	}
	CHECK_INT(status_of(&body, 0), 408);
	CHECK_INT(body.finished, 1);
	CHECK_INT(body.d.shared.counters.timeouts, 1);

	/* At twice the least rate nobody complains. */
	CHECK_OK(site_init(&steady));
	site_send(&steady, "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 81920\r\n\r\n");
	for (int i = 0; i < 10; i++) {
		char kilobytes[8193];

		memset(kilobytes, 'x', 8192);
		kilobytes[8192] = '\0';
		driver_wait(&steady.d, NS_PER_S);
		site_send(&steady, kilobytes);
	}
	CHECK_INT(status_of(&steady, 0), 200);

	/* Ahead of the rate, and then nothing. */
	CHECK_OK(site_init(&quiet));
	site_send(&quiet, "POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n");
	for (int i = 0; i < 1000; i++)
		site_send(&quiet, "200\r\n"
				  "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
				  "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
				  "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
				  "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
				  "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
				  "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
				  "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
				  "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
				  "\r\n");
	driver_wait(&quiet.d, 119 * NS_PER_S);
	CHECK(!quiet.d.ended);
	driver_wait(&quiet.d, 2 * NS_PER_S);
	CHECK_INT(status_of(&quiet, 0), 408);
}

TEST(idle_connections_end_without_a_word)
{
	CLEANUP(site_release) struct site s = {0};

	CHECK_OK(site_init(&s));
	site_send(&s, "GET /a HTTP/1.1\r\nHost: h\r\n\r\n");
	driver_wait(&s.d, 119 * NS_PER_S);
	CHECK(!s.d.ended);
	buf_clear(&s.d.sent);
	driver_wait(&s.d, 2 * NS_PER_S);
	CHECK(s.d.ended && !s.d.sent.n);
	CHECK_INT(s.d.shared.counters.timeouts, 0);
}

TEST(a_stop_answers_what_was_received)
{
	CLEANUP(site_release) struct site idle = {0}, busy = {0}, partial = {0};
	struct http_exchange *held;

	CHECK_OK(site_init(&idle));
	idle.d.session->ops->drain(idle.d.session);
	driver_turn(&idle.d);
	CHECK(idle.d.ended);

	CHECK_OK(site_init(&busy));
	site_send(&busy, "GET /hold HTTP/1.1\r\nHost: h\r\n\r\nGET /a HTTP/1.1\r\nHost: h\r\n\r\n");
	busy.d.session->ops->drain(busy.d.session);
	driver_turn(&busy.d);
	CHECK(!busy.d.ended);
	held = busy.held;
	busy.held = NULL;
	http_reply_text(held, 200, "text/plain", STR("done"));
	driver_turn(&busy.d);
	CHECK(busy.d.ended);
	CHECK_INT(status_of(&busy, 0), 200);
	CHECK_INT(status_of(&busy, 1), 204);
	CHECK(sent(&busy, "Connection: close"));

	CHECK_OK(site_init(&partial));
	site_send(&partial, "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\nab");
	partial.d.session->ops->drain(partial.d.session);
	driver_turn(&partial.d);
	CHECK(!partial.d.ended);
	site_send(&partial, "cd");
	CHECK(partial.d.ended && sent(&partial, "\r\n\r\nabcd"));
}

TEST(half_closed_clients_are_answered)
{
	CLEANUP(site_release) struct site s = {0}, cut = {0};
	struct http_exchange *held;

	CHECK_OK(site_init(&s));
	site_send(&s, "GET /hold HTTP/1.1\r\nHost: h\r\n\r\nGET /a HTTP/1.1\r\nHost: h\r\n\r\nGET");
	s.d.session->ops->end_of_input(s.d.session);
	driver_turn(&s.d);
	CHECK(!s.d.ended);
	held = s.held;
	s.held = NULL;
	http_reply_text(held, 200, "text/plain", STR("done"));
	driver_turn(&s.d);
	CHECK_INT(status_of(&s, 1), 204);
	CHECK(s.d.ended);

	CHECK_OK(site_init(&cut));
	site_send(&cut, "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\nab");
	cut.d.session->ops->end_of_input(cut.d.session);
	driver_turn(&cut.d);
	CHECK(cut.d.ended && !cut.d.sent.n);
	CHECK_INT(cut.finished, 1);
}

TEST(exchanges_outlive_their_session_until_they_are_answered)
{
	struct site s = {0};
	struct http_exchange *held;

	CHECK_OK(site_init(&s));
	site_send(&s, "GET /hold HTTP/1.1\r\nHost: h\r\n\r\n");
	held = s.held;
	CHECK(held && !atomic_load(&held->gone));
	session_gone(s.d.session);
	CHECK(atomic_load(&held->gone));
	session_free(s.d.session);
	s.d.session = NULL;
	CHECK_INT(s.d.shared.live_exchanges, 1);
	CHECK_INT(s.finished, 0);
	site_release(&s);
	CHECK_INT(s.d.shared.live_exchanges, 0);
	CHECK_INT(s.finished, 1);
}

static enum err serve_everything(void)
{
	CLEANUP(site_release) struct site s = {0};

	TRY(site_init(&s));
	site_send(&s, REQUESTS);
	TRY(s.d.error);
	TRY(buf_error(&s.log));
	/* A reply that could not be made whole says so. */
	return sent(&s, " 503 ") || !str_eq(buf_view(&s.log), STR(SEEN)) ? ERR_NO_MEMORY : ERR_OK;
}

TEST(no_memory_ends_connections_and_nothing_else)
{
	ALLOC_SWEEP(serve_everything());
}
