/*
 * A small HTTP server for tests/e2e and for measuring: says its address on standard output, ends
 * on SIGTERM or at the end of its standard input.
 *
 *	http_echo [ADDRESS] [LOOPS]
 *
 *	/hello  a short text          /echo   the body that was sent
 *	/asset  100,000 bytes, ranges /refuse 403 before the body is read
 */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "net/net.h"

static char asset[100000];
static volatile sig_atomic_t ended;

static void on_signal(int number)
{
	(void)number;
	ended = 1;
}

static bool admit(void *context, struct http_exchange *x)
{
	(void)context;
	if (!str_eq(x->path, STR("/refuse")))
		return true;
	http_reply_text(x, 403, "text/plain", STR("no\n"));
	return false;
}

static void echo(struct http_exchange *x)
{
	struct http_header type = {STR("content-type"), STR("application/octet-stream")};
	struct http_response r = {
		.status = 200, .headers = &type, .header_count = 1, .body = BUF_INIT(SIZE_MAX)};

	buf_str(&r.body, x->body);
	http_reply(x, &r);
}

static void handle(void *context, struct http_exchange *x)
{
	struct http_response r = {.status = 200, .static_body = str_n(asset, sizeof(asset))};

	(void)context;
	if (str_eq(x->path, STR("/echo")))
		echo(x);
	else if (str_eq(x->path, STR("/asset")))
		http_reply_asset(x, &r, STR("\"v1\""));
	else if (str_eq(x->path, STR("/hello")))
		http_reply_text(x, 200, "text/plain", STR("hello\n"));
	else
		http_reply_text(x, 404, "text/plain", STR("there is nothing here\n"));
}

static void wait_for_end(void)
{
	struct pollfd input = {.fd = 0, .events = POLLIN};
	char byte;

	while (!ended)
		if (poll(&input, 1, -1) > 0 && read(0, &byte, 1) <= 0)
			return;
}

int main(int argc, char **argv)
{
	struct http_options options = HTTP_OPTIONS_DEFAULT;
	struct http_handlers handlers = {.admit = admit, .handle = handle};
	struct sigaction action = {.sa_handler = on_signal};
	struct http_server *server = NULL;
	struct buf address = BUF_INIT(4096);
	struct fault fault = {0};
	uint64_t loops = 0;
	enum err e;

	for (size_t i = 0; i < sizeof(asset); i++)
		asset[i] = (char)('a' + i % 26);
	if (argc > 2 && !str_to_u64(str_of(argv[2]), 10, &loops))
		options.loops = (unsigned)loops;
	sigaction(SIGTERM, &action, NULL);
	e = http_server_new(&options, &handlers, &server, &fault);
	if (!e)
		e = http_server_listen(server, str_of(argc > 1 ? argv[1] : "127.0.0.1:0"), 0,
				       &address, &fault);
	if (!e)
		e = http_server_start(server, &fault);
	if (e) {
		fprintf(stderr, "%s\n", fault.text[0] ? fault.text : err_text(e));
		return 1;
	}
	printf("%s\n", address.data);
	fflush(stdout);
	wait_for_end();
	http_server_stop(server, clock_monotonic_ns() + 10 * NS_PER_S);
	http_server_free(server);
	buf_release(&address);
	return 0;
}
