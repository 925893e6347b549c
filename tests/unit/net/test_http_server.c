/* The server with real sockets and threads; runs under TSan too. */
#include "net/http.h"

#include <signal.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/thread.h"
#include "net/http_client.h"
#include "test.h"

#define CLIENTS 8
#define ROUNDS	50

struct waiting {
	struct http_exchange *x;
	struct waiting *next;
};

/* A server whose path says what happens; /thread and /hold are answered by another thread. */
struct fixture {
	struct http_options options;
	struct http_server *server;
	struct buf address;
	struct thread worker;
	struct mutex lock;
	struct cond changed;
	struct waiting *waiting;
	bool held, ending; /* held: /hold waits */
	unsigned holding;  /* how many wait */
	atomic_uint admitted, finished, gone_seen;
};

static char large_asset[8 << 20];

static void answer(struct fixture *f, struct http_exchange *x)
{
	struct http_response r = {.status = 200, .body = BUF_INIT(SIZE_MAX)};

	if (atomic_load(&x->gone))
		atomic_fetch_add(&f->gone_seen, 1);
	buf_str(&r.body, x->body);
	http_reply(x, &r);
}

static bool may_answer(const struct fixture *f, const struct waiting *w)
{
	return !f->held || !str_eq(w->x->path, STR("/hold"));
}

static struct waiting **find_work(struct fixture *f)
{
	struct waiting **w = &f->waiting;

	while (*w && !may_answer(f, *w))
		w = &(*w)->next;
	return w;
}

static void work(void *context)
{
	struct fixture *f = context;
	struct waiting **w;

	mutex_lock(&f->lock);
	for (;;) {
		while (!*(w = find_work(f)) && !f->ending)
			cond_wait(&f->changed, &f->lock);
		if (!*w)
			break;
		struct http_exchange *x = (*w)->x;

		*w = (*w)->next;
		if (str_eq(x->path, STR("/hold")))
			f->holding--;
		mutex_unlock(&f->lock);
		answer(f, x);
		mutex_lock(&f->lock);
	}
	mutex_unlock(&f->lock);
}

static void hand_over(struct fixture *f, struct http_exchange *x)
{
	struct waiting *w = arena_alloc(&x->arena, sizeof(*w)), **last = &f->waiting;

	if (!w) {
		answer(f, x);
		return;
	}
	*w = (struct waiting){.x = x};
	mutex_lock(&f->lock);
	while (*last)
		last = &(*last)->next;
	*last = w;
	if (str_eq(x->path, STR("/hold")))
		f->holding++;
	cond_broadcast(&f->changed);
	mutex_unlock(&f->lock);
}

static bool admit(void *context, struct http_exchange *x)
{
	struct fixture *f = context;

	struct str client = http_find(x, STR("x-client"));
	struct fault fault = {0};

	if (str_eq(x->path, STR("/refuse"))) {
		http_reply_text(x, 429, "text/plain", STR("later\n"));
		return false;
	}
	if (client.n && http_count_for(x, client, &fault) != ERR_OK) {
		http_reply_text(x, 429, "text/plain", str_of(fault.text));
		return false;
	}
	atomic_fetch_add(&f->admitted, 1);
	return true;
}

static void handle(void *context, struct http_exchange *x)
{
	struct fixture *f = context;
	struct http_response large = {.status = 200,
				      .static_body = str_n(large_asset, sizeof(large_asset))};
	char text[64];

	if (str_eq(x->path, STR("/thread")) || str_eq(x->path, STR("/hold"))) {
		hand_over(f, x);
	} else if (str_eq(x->path, STR("/large"))) {
		http_reply_asset(x, &large, STR(""));
	} else if (str_eq(x->path, STR("/who"))) {
		snprintf(text, sizeof(text), "%.*s %u", (int)x->peer.n, x->peer.p, x->port);
		http_reply_text(x, 200, "text/plain", str_of(text));
	} else {
		answer(f, x);
	}
}

static void finished(void *context, struct http_exchange *x)
{
	struct fixture *f = context;

	(void)x;
	atomic_fetch_add(&f->finished, 1);
}

static enum err fixture_new_server(struct fixture *f)
{
	struct http_handlers handlers = {
		.context = f, .admit = admit, .handle = handle, .finished = finished};

	if (!f->options.max_body)
		f->options = HTTP_OPTIONS_DEFAULT;
	f->options.loops = 2;
	mutex_init(&f->lock);
	cond_init(&f->changed);
	buf_init(&f->address, 4096);
	return http_server_new(&f->options, &handlers, &f->server, NULL);
}

static enum err fixture_start(struct fixture *f, const char *address)
{
	TRY(fixture_new_server(f));
	TRY(http_server_listen(f->server, str_of(address), 0, &f->address, NULL));
	TRY(http_server_start(f->server, NULL));
	return thread_start(&f->worker, "worker", work, f);
}

static void hold(struct fixture *f, bool held)
{
	mutex_lock(&f->lock);
	f->held = held;
	cond_broadcast(&f->changed);
	mutex_unlock(&f->lock);
}

static void fixture_end(struct fixture *f)
{
	hold(f, false);
	http_server_free(f->server);
	mutex_lock(&f->lock);
	f->ending = true;
	cond_broadcast(&f->changed);
	mutex_unlock(&f->lock);
	thread_join(&f->worker);
	cond_release(&f->changed);
	mutex_release(&f->lock);
	buf_release(&f->address);
}

/* Waits until so many requests for /hold have arrived. */
static void wait_holding(struct fixture *f, unsigned n)
{
	int64_t deadline = clock_monotonic_ns() + CLIENT_PATIENCE_MS * NS_PER_MS;

	mutex_lock(&f->lock);
	while (f->holding < n && cond_wait_until(&f->changed, &f->lock, deadline))
		;
	mutex_unlock(&f->lock);
}

static void close_fd(const int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

#define GET(path)  "GET " path " HTTP/1.1\r\nHost: h\r\n\r\n"
#define CLIENT(f_) CLEANUP(close_fd) int fd = client_connect(buf_view(&(f_)->address))

static void check_listener(const char *address, const char *peer)
{
	CLEANUP(fixture_end) struct fixture f = {0};
	CLEANUP(buf_release) struct buf kept = BUF_INIT(1 << 20), body = BUF_INIT(1 << 20);

	CHECK_OK(fixture_start(&f, address));
	CLIENT(&f);
	CHECK(fd >= 0);
	/* Pipelined: the first is answered by another thread, and still comes first. */
	CHECK(client_send(
		fd, STR("POST /thread HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nfirst" GET(
			    "/who") GET("/refuse") GET("/"))));
	CHECK_INT(client_reply(fd, &kept, &body), 200);
	CHECK_STR(buf_view(&body), "first");
	buf_clear(&body);
	CHECK_INT(client_reply(fd, &kept, &body), 200);
	CHECK(str_starts(buf_view(&body), str_of(peer)));
	CHECK_INT(client_reply(fd, &kept, NULL), 429);
	CHECK_INT(client_reply(fd, &kept, NULL), 200);
	http_server_stop(f.server, clock_monotonic_ns() + NS_PER_S);
	CHECK(client_read_all(fd, &kept));
	CHECK_INT(atomic_load(&f.admitted), 3);
	CHECK_INT(atomic_load(&f.finished), 3);
	CHECK(client_connect(buf_view(&f.address)) < 0);
}

TEST(server_answers_on_ipv4)
{
	check_listener("127.0.0.1:0", "127.0.0.1:");
}

TEST(server_timing_reports_how_long_a_request_took)
{
	static const char asks[] =
		"GET /thread HTTP/1.1\r\nHost: h\r\nVestal-Timing: 1\r\nConnection: close\r\n\r\n";
	static const char silent[] = "GET /thread HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n";
	CLEANUP(fixture_end) struct fixture f = {0};

	CHECK_OK(fixture_start(&f, "127.0.0.1:0"));
	for (int wanted = 0; wanted < 2; wanted++) {
		CLEANUP(buf_release) struct buf all = BUF_INIT(1 << 20);
		CLIENT(&f);

		CHECK(client_send(fd, str_of(wanted ? asks : silent)));
		CHECK(client_read_all(fd, &all));
		CHECK(str_starts(buf_view(&all), STR("HTTP/1.1 200")));
		CHECK_INT(str_search(buf_view(&all), STR("Server-Timing: queue;dur=")) < all.n,
			  wanted);
	}
}

TEST(server_answers_on_ipv6)
{
	int probe = socket(AF_INET6, SOCK_STREAM, 0);
	struct sockaddr_in6 a = {.sin6_family = AF_INET6, .sin6_addr = in6addr_loopback};
	bool possible = probe >= 0 && bind(probe, (struct sockaddr *)&a, sizeof(a)) == 0;

	if (probe >= 0)
		close(probe);
	if (!possible) {
		test_skip("this machine has no IPv6");
		return;
	}
	check_listener("[::1]:0", "[::1]:");
}

TEST(server_answers_on_a_unix_socket_and_removes_it)
{
	char path[64], address[80];

	snprintf(path, sizeof(path), "/tmp/vestal-test-%d.sock", (int)getpid());
	snprintf(address, sizeof(address), "unix:%s", path);
	check_listener(address, "unix 0");
	CHECK(access(path, F_OK) != 0);
}

TEST(a_socket_left_behind_is_taken_and_one_in_use_is_not)
{
	CLEANUP(fixture_end) struct fixture f = {0};
	CLEANUP(fixture_end) struct fixture other = {0};
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	int left = socket(AF_UNIX, SOCK_STREAM, 0);
	char address[160];
	struct fault fault = {0};

	snprintf(a.sun_path, sizeof(a.sun_path), "/tmp/vestal-left-%d.sock", (int)getpid());
	snprintf(address, sizeof(address), "unix:%s", a.sun_path);
	CHECK(bind(left, (struct sockaddr *)&a, sizeof(a)) == 0);
	close(left);
	CHECK_OK(fixture_start(&f, address));
	CHECK_OK(fixture_new_server(&other));
	CHECK_ERR(http_server_listen(other.server, str_of(address), 0, NULL, &fault), ERR_EXISTS);
	CHECK(strstr(fault.text, "in use"));
}

TEST(server_takes_a_socket_that_systemd_opened)
{
	CLEANUP(fixture_end) struct fixture f = {0};
	CLEANUP(buf_release) struct buf kept = BUF_INIT(1 << 20), body = BUF_INIT(1 << 20);
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int given = socket(AF_INET, SOCK_STREAM, 0);
	char address[32];

	CHECK(bind(given, (struct sockaddr *)&a, sizeof(a)) == 0 && listen(given, 16) == 0);
	snprintf(address, sizeof(address), "fd:%d", given);
	CHECK_OK(fixture_new_server(&f));
	CHECK_OK(http_server_listen(f.server, str_of(address), 4317, &f.address, NULL));
	CHECK_OK(http_server_start(f.server, NULL));
	CLIENT(&f);
	CHECK(client_send(fd, STR(GET("/who"))));
	CHECK_INT(client_reply(fd, &kept, &body), 200);
	CHECK(str_ends(buf_view(&body), STR(" 4317")));
}

TEST(bad_addresses_are_told_apart)
{
	CLEANUP(fixture_end) struct fixture f = {0};
	CLEANUP(fixture_end) struct fixture other = {0};
	static const char *const bad[] = {
		"",	   "4040",	     "127.0.0.1",    "127.0.0.1:",    "127.0.0.1:65536",
		"[::1:80", "example.org:80", "1.2.3.4:x",    "unix:",	      "fd:",
		"fd:x",	   "fd:99999",	     "127.0.0.1:-1", "[127.0.0.1]:1", "::1:80"};
	struct fault fault;

	CHECK_OK(fixture_start(&f, "127.0.0.1:0"));
	CHECK_OK(fixture_new_server(&other));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		fault.text[0] = '\0';
		CHECK_ERR(http_server_listen(other.server, str_of(bad[i]), 0, NULL, &fault),
			  ERR_BAD_ARGUMENT);
		CHECK(fault.text[0]);
	}
	CHECK_ERR(http_server_listen(other.server, buf_view(&f.address), 0, NULL, &fault),
		  ERR_EXISTS);
	CHECK(http_server_listen(other.server, STR("198.51.100.1:80"), 0, NULL, &fault) != ERR_OK);
	CHECK(strstr(fault.text, "not an address of this machine"));
	CHECK_ERR(http_server_listen(f.server, STR("127.0.0.1:0"), 0, NULL, NULL),
		  ERR_BAD_ARGUMENT);
}

struct client_run {
	struct fixture *f;
	struct thread thread;
	const char *path;
	unsigned answered;
};

static void run_client(void *context)
{
	struct client_run *r = context;
	struct buf kept = BUF_INIT(1 << 20), body = BUF_INIT(1 << 20);
	int fd = client_connect(buf_view(&r->f->address));

	for (unsigned i = 0; i < ROUNDS && fd >= 0; i++) {
		char request[200], text[40];

		snprintf(text, sizeof(text), "%p %u", context, i);
		snprintf(request, sizeof(request),
			 "POST %s HTTP/1.1\r\nHost: h\r\nContent-Length: %zu\r\n\r\n%s", r->path,
			 strlen(text), text);
		buf_clear(&body);
		if (!client_send(fd, str_of(request)) || client_reply(fd, &kept, &body) != 200)
			break;
		r->answered += str_eq(buf_view(&body), str_of(text));
	}
	close_fd(&fd);
	buf_release(&kept);
	buf_release(&body);
}

TEST(replies_of_other_threads_reach_their_clients)
{
	CLEANUP(fixture_end) struct fixture f = {0};
	struct client_run runs[CLIENTS];
	struct http_counters counters;

	CHECK_OK(fixture_start(&f, "127.0.0.1:0"));
	for (int i = 0; i < CLIENTS; i++) {
		runs[i] = (struct client_run){.f = &f, .path = i % 4 ? "/thread" : "/here"};
		CHECK_OK(thread_start(&runs[i].thread, "client", run_client, &runs[i]));
	}
	for (int i = 0; i < CLIENTS; i++)
		thread_join(&runs[i].thread);
	for (int i = 0; i < CLIENTS; i++)
		CHECK_INT(runs[i].answered, ROUNDS);
	counters = http_server_counters(f.server);
	CHECK_INT(counters.requests_total, CLIENTS * ROUNDS);
	CHECK_INT(counters.connections_total, CLIENTS);
	CHECK(counters.bytes_in > 0 && counters.bytes_out > counters.bytes_in / 4);
	http_server_stop(f.server, clock_monotonic_ns() + NS_PER_S);
	CHECK_INT(atomic_load(&f.finished), CLIENTS * ROUNDS);
	CHECK_INT(http_server_counters(f.server).connections_open, 0);
}

TEST(large_bodies_go_both_ways_through_small_socket_buffers)
{
	CLEANUP(fixture_end) struct fixture f = {0};
	CLEANUP(buf_release) struct buf kept = BUF_INIT(64 << 20), body = BUF_INIT(64 << 20);
	struct str sent = str_n(large_asset, 3 << 20);
	char head[100];

	for (size_t i = 0; i < sizeof(large_asset); i++)
		large_asset[i] = (char)(i * 2654435761u >> 13);
	CHECK_OK(fixture_start(&f, "127.0.0.1:0"));
	CLIENT(&f);
	snprintf(head, sizeof(head), "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: %zu\r\n\r\n",
		 sent.n);
	CHECK(client_send(fd, str_of(head)) && client_send(fd, sent));
	CHECK_INT(client_reply(fd, &kept, &body), 200);
	CHECK(str_eq(buf_view(&body), sent));
	buf_clear(&body);
	/* Two at once: the second is not begun before the first was read. */
	CHECK(client_send(fd, STR(GET("/large") GET("/large"))));
	CHECK_INT(client_reply(fd, &kept, &body), 200);
	CHECK(str_eq(buf_view(&body), str_n(large_asset, sizeof(large_asset))));
	CHECK_INT(client_reply(fd, &kept, NULL), 200);
	/* And one that is not read at all. */
	CHECK(client_send(fd, STR(GET("/large"))));
	CHECK(client_read(fd, &kept) > 0);
}

TEST(refusals_arrive_though_the_body_is_not_read)
{
	CLEANUP(fixture_end) struct fixture f = {.options = HTTP_OPTIONS_DEFAULT};
	CLEANUP(buf_release) struct buf kept = BUF_INIT(1 << 20);

	f.options.max_body = 1000;
	CHECK_OK(fixture_start(&f, "127.0.0.1:0"));
	CLIENT(&f);
	CHECK(client_send(fd,
			  STR("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 2000000\r\n\r\n")));
	client_send(fd, str_n(large_asset, 2000000));
	CHECK_INT(client_reply(fd, &kept, NULL), 413);
	CHECK(client_read_all(fd, &kept));
}

TEST(at_the_limit_the_connection_without_a_request_goes_and_one_with_a_request_stays)
{
	CLEANUP(fixture_end) struct fixture f = {.options = HTTP_OPTIONS_DEFAULT};
	CLEANUP(buf_release) struct buf kept = BUF_INIT(1 << 20);
	CLEANUP(close_fd) int first = -1;
	CLEANUP(close_fd) int second = -1;
	CLEANUP(close_fd) int third = -1;

	f.options.max_connections = 2;
	CHECK_OK(fixture_start(&f, "127.0.0.1:0"));
	first = client_connect(buf_view(&f.address));
	second = client_connect(buf_view(&f.address));
	CHECK(client_send(first, STR(GET("/"))) && client_send(second, STR(GET("/"))));
	CHECK_INT(client_reply(first, &kept, NULL), 200);
	CHECK_INT(client_reply(second, &kept, NULL), 200);
	/* Each loop has one; the new one takes the place of that of its loop. */
	third = client_connect(buf_view(&f.address));
	CHECK(client_send(third, STR(GET("/"))));
	CHECK_INT(client_reply(third, &kept, NULL), 200);
	CHECK_INT(http_server_counters(f.server).evicted_total, 1);
	CHECK_INT(http_server_counters(f.server).refused_total, 0);
	CHECK_INT(http_server_counters(f.server).connections_open, 2);
}

TEST(at_the_limit_a_connection_that_was_just_accepted_stays)
{
	CLEANUP(fixture_end) struct fixture f = {.options = HTTP_OPTIONS_DEFAULT};
	CLEANUP(buf_release) struct buf kept = BUF_INIT(1 << 20);
	char address[80];
	int64_t begun = 0;
	int fds[5];

	/* Two for each loop, and no limit for one address. */
	f.options.max_connections = 4;
	snprintf(address, sizeof(address), "unix:/tmp/vestal-young-%d", (int)getpid());
	CHECK_OK(fixture_start(&f, address));
	for (int i = 0; i < 5; i++) {
		if (i == 2)
			begun = clock_monotonic_ns();
		fds[i] = client_connect(buf_view(&f.address));
		if (i < 2) {
			CHECK(client_send(fds[i], STR(GET("/"))));
			CHECK_INT(client_reply(fds[i], &kept, NULL), 200);
		}
	}
	CHECK(client_send(fds[4], STR(GET("/"))));
	CHECK_INT(client_reply(fds[4], &kept, NULL), 200);
	if (clock_monotonic_ns() - begun > 200 * NS_PER_MS) {
		test_skip("this machine is too busy: the connections have grown old meanwhile");
		return;
	}
	/* It took the place of one of the first two, not of those that have sent nothing yet. */
	for (int i = 3; i >= 2; i--) {
		CHECK(client_send(fds[i], STR(GET("/"))));
		CHECK_INT(client_reply(fds[i], &kept, NULL), 200);
	}
	/* Two loops that accept at once may both see four. */
	CHECK(http_server_counters(f.server).evicted_total <= 1);
	for (int i = 0; i < 5; i++)
		close_fd(&fds[i]);
}

TEST(no_connection_goes_when_all_have_requests)
{
	CLEANUP(fixture_end) struct fixture f = {.held = true, .options = HTTP_OPTIONS_DEFAULT};
	CLEANUP(buf_release) struct buf kept = BUF_INIT(1 << 20);
	CLEANUP(close_fd) int first = -1;
	CLEANUP(close_fd) int second = -1;

	f.options.max_connections = 2;
	CHECK_OK(fixture_start(&f, "127.0.0.1:0"));
	first = client_connect(buf_view(&f.address));
	second = client_connect(buf_view(&f.address));
	CHECK(client_send(first, STR(GET("/hold"))) && client_send(second, STR(GET("/hold"))));
	wait_holding(&f, 2);
	CLIENT(&f);
	CHECK_INT(client_reply(fd, &kept, NULL), 503);
	CHECK_INT(http_server_counters(f.server).refused_total, 1);
	hold(&f, false);
	CHECK_INT(client_reply(first, &kept, NULL), 200);
	CHECK_INT(client_reply(second, &kept, NULL), 200);
}

#define OF(client) "GET / HTTP/1.1\r\nHost: h\r\nX-Client: " client "\r\n\r\n"

TEST(connections_per_client_are_limited)
{
	CLEANUP(fixture_end) struct fixture f = {.options = HTTP_OPTIONS_DEFAULT};
	CLEANUP(buf_release) struct buf kept = BUF_INIT(1 << 20);
	CLEANUP(close_fd) int first = -1;
	CLEANUP(close_fd) int second = -1;
	CLEANUP(close_fd) int third = -1;
	CLEANUP(buf_release) struct buf body = BUF_INIT(1 << 20);

	f.options.max_per_client = 2;
	CHECK_OK(fixture_start(&f, "127.0.0.1:0"));
	first = client_connect(buf_view(&f.address));
	second = client_connect(buf_view(&f.address));
	third = client_connect(buf_view(&f.address));
	CHECK(client_send(first, STR(OF("a"))) && client_send(second, STR(OF("a"))));
	CHECK_INT(client_reply(first, &kept, NULL), 200);
	CHECK_INT(client_reply(second, &kept, NULL), 200);
	/* Idle connections count; the one above the limit gets an error and is closed. */
	CHECK(client_send(third, STR(OF("a"))));
	CHECK_INT(client_reply(third, &kept, &body), 429);
	CHECK(str_search(buf_view(&body), STR("has 2 connections")) < body.n);
	CHECK(client_read_all(third, &kept));
	/* The counted connections keep working, and another client gets in. */
	CHECK(client_send(first, STR(OF("a"))));
	CHECK_INT(client_reply(first, &kept, NULL), 200);
	CLIENT(&f);
	CHECK(client_send(fd, STR(OF("b"))));
	CHECK_INT(client_reply(fd, &kept, NULL), 200);
	/* A connection with a request for another client moves to that client, which makes room. */
	CHECK(client_send(first, STR(OF("b"))));
	CHECK_INT(client_reply(first, &kept, NULL), 200);
	CHECK(client_send(fd, STR(OF("a"))));
	CHECK_INT(client_reply(fd, &kept, NULL), 200);
}

TEST(slow_and_silent_clients_are_sent_away)
{
	CLEANUP(fixture_end) struct fixture f = {.options = HTTP_OPTIONS_DEFAULT};
	CLEANUP(buf_release) struct buf kept = BUF_INIT(1 << 20);
	CLEANUP(close_fd) int silent = -1;
	CLEANUP(close_fd) int body = -1;

	f.options.head_timeout_ns = 30 * NS_PER_MS;
	f.options.idle_timeout_ns = 60 * NS_PER_MS;
	CHECK_OK(fixture_start(&f, "127.0.0.1:0"));
	silent = client_connect(buf_view(&f.address));
	body = client_connect(buf_view(&f.address));
	CLIENT(&f);
	CHECK(client_send(fd, STR("GET / HTTP/1.1\r\nHos")));
	CHECK(client_send(body, STR("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\nabc")));
	CHECK_INT(client_reply(fd, &kept, NULL), 408);
	CHECK(client_read_all(fd, &kept));
	CHECK_INT(client_reply(body, &kept, NULL), 408);
	CHECK(client_read_all(silent, &kept) && !kept.n);
	CHECK_INT(http_server_counters(f.server).timeouts_total, 2);
}

TEST(a_client_that_does_not_read_is_sent_away)
{
	CLEANUP(fixture_end) struct fixture f = {.options = HTTP_OPTIONS_DEFAULT};
	int64_t deadline = clock_monotonic_ns() + CLIENT_PATIENCE_MS * NS_PER_MS;

	f.options.write_timeout_ns = 20 * NS_PER_MS;
	f.options.min_reply_rate = 0;
	CHECK_OK(fixture_start(&f, "127.0.0.1:0"));
	CLIENT(&f);
	CHECK(client_send(fd, STR(GET("/large"))));
	while (!http_server_counters(f.server).timeouts_total && clock_monotonic_ns() < deadline)
		clock_sleep_ns(10 * NS_PER_MS);
	/* It is counted before the connection is closed. */
	while (http_server_counters(f.server).connections_open && clock_monotonic_ns() < deadline)
		clock_sleep_ns(10 * NS_PER_MS);
	CHECK_INT(http_server_counters(f.server).timeouts_total, 1);
	CHECK_INT(http_server_counters(f.server).connections_open, 0);
}

static void wait_gone(struct fixture *f)
{
	int64_t deadline = clock_monotonic_ns() + CLIENT_PATIENCE_MS * NS_PER_MS;
	bool gone = false;

	while (!gone && clock_monotonic_ns() < deadline) {
		mutex_lock(&f->lock);
		gone = f->waiting && atomic_load(&f->waiting->x->gone);
		mutex_unlock(&f->lock);
		clock_sleep_ns(NS_PER_MS);
	}
}

TEST(handlers_learn_that_their_client_went_away)
{
	CLEANUP(fixture_end) struct fixture f = {.held = true};
	struct linger reset = {.l_onoff = 1};

	CHECK_OK(fixture_start(&f, "127.0.0.1:0"));
	for (int round = 0; round < 3; round++) {
		int fd = client_connect(buf_view(&f.address));

		CHECK(client_send(fd, STR(GET("/hold"))));
		wait_holding(&f, 1);
		/* Half closed, closed, reset. */
		if (round == 0)
			shutdown(fd, SHUT_WR);
		if (round == 2)
			setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
		if (round)
			close(fd);
		wait_gone(&f);
		hold(&f, false);
		if (round == 0) {
			CLEANUP(buf_release) struct buf kept = BUF_INIT(1 << 20);

			/* It can still read, and is answered. */
			CHECK_INT(client_reply(fd, &kept, NULL), 200);
			close(fd);
		}
		while (atomic_load(&f.finished) <= (unsigned)round)
			clock_sleep_ns(NS_PER_MS);
		CHECK_INT(atomic_load(&f.gone_seen), round + 1);
		hold(&f, true);
	}
}

static void stop_soon(void *context)
{
	struct fixture *f = context;

	http_server_stop(f->server, clock_monotonic_ns() + CLIENT_PATIENCE_MS * NS_PER_MS);
}

TEST(a_stop_answers_every_request_that_arrived)
{
	CLEANUP(fixture_end) struct fixture f = {.held = true};
	struct thread stopper = {0};
	int fds[CLIENTS];

	CHECK_OK(fixture_start(&f, "127.0.0.1:0"));
	for (int i = 0; i < CLIENTS; i++) {
		fds[i] = client_connect(buf_view(&f.address));
		CHECK(client_send(fds[i], i % 2 ? STR(GET("/hold") GET("/thread"))
						: STR("POST /hold HTTP/1.1\r\nHost: h\r\n"
						      "Content-Length: 4\r\n\r\nab")));
	}
	wait_holding(&f, CLIENTS / 2);
	CHECK_OK(thread_start(&stopper, "stop", stop_soon, &f));
	/* Those in the middle of a body may finish it. */
	for (int i = 0; i < CLIENTS; i += 2)
		CHECK(client_send(fds[i], STR("cd")));
	wait_holding(&f, CLIENTS);
	hold(&f, false);
	for (int i = 0; i < CLIENTS; i++) {
		CLEANUP(buf_release) struct buf kept = BUF_INIT(1 << 20);

		CHECK_INT(client_reply(fds[i], &kept, NULL), 200);
		if (i % 2)
			CHECK_INT(client_reply(fds[i], &kept, NULL), 200);
		CHECK(client_read_all(fds[i], &kept));
		close(fds[i]);
	}
	thread_join(&stopper);
	CHECK_INT(atomic_load(&f.finished), CLIENTS + CLIENTS / 2);
}

static void let_go_soon(void *context)
{
	struct fixture *f = context;

	clock_sleep_ns(50 * NS_PER_MS);
	hold(f, false);
}

TEST(a_stop_ends_connections_at_its_deadline_and_waits_for_handlers)
{
	CLEANUP(fixture_end) struct fixture f = {.held = true};
	CLEANUP(buf_release) struct buf kept = BUF_INIT(1 << 20);
	struct thread later = {0};

	CHECK_OK(fixture_start(&f, "127.0.0.1:0"));
	CLIENT(&f);
	CHECK(client_send(fd, STR(GET("/hold"))));
	wait_holding(&f, 1);
	CHECK_OK(thread_start(&later, "later", let_go_soon, &f));
	http_server_stop(f.server, clock_monotonic_ns());
	CHECK_INT(atomic_load(&f.finished), 1);
	CHECK_INT(atomic_load(&f.gone_seen), 1);
	client_read_all(fd, &kept);
	CHECK_INT(kept.n, 0);
	thread_join(&later);
}

TEST(requests_sent_before_the_stop_are_not_lost)
{
	for (int round = 0; round < 20; round++) {
		CLEANUP(fixture_end) struct fixture f = {0};
		CLEANUP(buf_release) struct buf kept = BUF_INIT(1 << 20);

		CHECK_OK(fixture_start(&f, "127.0.0.1:0"));
		CLIENT(&f);
		/* Perhaps not even accepted yet. */
		CHECK(client_send(fd, STR(GET("/"))));
		http_server_stop(f.server, clock_monotonic_ns() + NS_PER_S);
		CHECK_INT(client_reply(fd, &kept, NULL), 200);
	}
}

static enum err start_and_end(void)
{
	struct http_options options = HTTP_OPTIONS_DEFAULT;
	struct http_handlers handlers = {.handle = handle};
	struct http_server *s = NULL;
	enum err e;

	options.loops = 3;
	TRY(http_server_new(&options, &handlers, &s, NULL));
	e = http_server_listen(s, STR("127.0.0.1:0"), 0, NULL, NULL);
	if (!e)
		e = http_server_start(s, NULL);
	http_server_free(s);
	return e;
}

TEST(no_memory_at_the_start_leaves_nothing_behind)
{
	ALLOC_SWEEP(start_and_end());
}
