/*
 * A server of calls for tests/e2e and for measuring: says its address on standard output, ends at
 * the end of its standard input, reads its certificates again on SIGHUP.
 *
 *	rpc_echo [ADDRESS [CERTIFICATE KEY [CLIENT_CA [require]]]]
 *
 *	/test.Echo/Echo  replies with the message
 *	/test.Echo/Fail  the message is "LABEL TEXT": fails with that error of base/err.def
 *	/test.Echo/Wait  replies from another thread, when the client no longer waits; says "late"
 *	/who             GET: protocol, and the subject of the client's certificate
 *	/refuse          refused in `admit`, as a call or with 403
 */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/thread.h"
#include "server/rpc.h"

static volatile sig_atomic_t reload;

static void on_hangup(int number)
{
	(void)number;
	reload = 1;
}

#define WAITING_MAX 16

static struct waiting {
	struct mutex lock;
	struct cond changed;
	struct rpc_call *calls[WAITING_MAX];
	bool end;
} waiting;

static void end_waiting(size_t i, enum err code)
{
	rpc_fail(waiting.calls[i], code, NULL, 0);
	waiting.calls[i] = NULL;
}

static void wait_thread(void *unused)
{
	(void)unused;
	mutex_lock(&waiting.lock);
	while (!waiting.end) {
		for (size_t i = 0; i < WAITING_MAX; i++) {
			if (!waiting.calls[i] || !rpc_is_late(waiting.calls[i]))
				continue;
			end_waiting(i, ERR_CANCELLED);
			printf("late\n");
			fflush(stdout);
		}
		cond_wait_until(&waiting.changed, &waiting.lock, clock_monotonic_ns() + NS_PER_MS);
	}
	for (size_t i = 0; i < WAITING_MAX; i++)
		if (waiting.calls[i])
			end_waiting(i, ERR_UNAVAILABLE);
	mutex_unlock(&waiting.lock);
}

static void put_waiting(struct rpc_call *c)
{
	struct rpc_call *kept = arena_alloc(&c->x->arena, sizeof(*kept));
	size_t i = 0;

	mutex_lock(&waiting.lock);
	while (i < WAITING_MAX && waiting.calls[i])
		i++;
	if (!kept || i == WAITING_MAX || waiting.end) {
		rpc_fail(c, ERR_BUSY, NULL, 250 * NS_PER_MS);
	} else {
		*kept = *c;
		waiting.calls[i] = kept;
	}
	mutex_unlock(&waiting.lock);
}

static void fail(struct rpc_call *c)
{
	size_t space = str_find(c->message, ' ');
	struct str label = {c->message.p, space};
	char *text = arena_copy(&c->x->arena, str_skip(c->message, space + 1));
	int code = ERR_OK;

	while (code < ERR_INTERNAL && !str_eq(label, str_of(err_label((enum err)code))))
		code++;
	rpc_fail(c, (enum err)code, text && *text ? text : NULL, 0);
}

static void call(struct http_exchange *x)
{
	struct limits limits = LIMITS_DEFAULT;
	struct buf body = BUF_INIT(SIZE_MAX);
	struct rpc_call c;

	limits.max_bytes = (size_t)64 << 20;
	if (!rpc_open(&c, x) || !rpc_read(&c, &limits))
		return;
	if (!str_eq(c.service, STR("test.Echo"))) {
		rpc_unknown(&c);
	} else if (str_eq(c.method, STR("Echo"))) {
		buf_str(&body, c.message);
		rpc_reply(&c, &body);
	} else if (str_eq(c.method, STR("Fail"))) {
		fail(&c);
	} else if (str_eq(c.method, STR("Wait"))) {
		put_waiting(&c);
	} else {
		rpc_unknown(&c);
	}
}

static bool admit(void *context, struct http_exchange *x)
{
	struct rpc_call c;

	(void)context;
	if (!str_starts(x->path, STR("/refuse")))
		return true;
	if (!rpc_is_call(x))
		http_reply_text(x, 403, "text/plain", STR("no\n"));
	else if (rpc_open(&c, x))
		rpc_fail(&c, ERR_UNAUTHENTICATED, NULL, 0);
	return false;
}

static void handle(void *context, struct http_exchange *x)
{
	struct buf text = BUF_INIT(1 << 16);

	(void)context;
	if (!str_eq(x->path, STR("/who"))) {
		call(x);
		return;
	}
	buf_printf(&text, "%s %.*s\n", x->version == HTTP_2 ? "h2" : "http/1.1",
		   (int)x->certificate.n, x->certificate.n ? x->certificate.p : "");
	http_reply_text(x, 200, "text/plain", buf_view(&text));
	buf_release(&text);
}

static void serve(struct http_server *server)
{
	struct pollfd input = {.fd = 0, .events = POLLIN};
	struct fault fault = {0};
	sigset_t open;
	char byte;

	sigemptyset(&open);

	for (;;) {
		if (reload) {
			reload = 0;
			printf("%s\n",
			       http_server_reload(server, &fault) ? fault.text : "reloaded");
			fflush(stdout);
		}
		/* A hangup is heard only here: none is lost between the look and the wait. */
		if (ppoll(&input, 1, NULL, &open) > 0 && read(0, &byte, 1) <= 0)
			return;
	}
}

static enum err open_server(int argc, char **argv, struct http_server **server, struct fault *fault)
{
	struct http_handlers handlers = {.admit = admit, .handle = handle};
	struct http_options options = HTTP_OPTIONS_DEFAULT;
	struct buf address = BUF_INIT(4096);
	enum err e;

	options.loops = 2;
	options.tls.certificate = argc > 2 ? argv[2] : NULL;
	options.tls.key = argc > 3 ? argv[3] : NULL;
	options.tls.client_ca = argc > 4 ? argv[4] : NULL;
	options.tls.require_client = argc > 5;
	TRY(http_server_new(&options, &handlers, server, fault));
	e = http_server_listen(*server, str_of(argc > 1 ? argv[1] : "127.0.0.1:0"), 0, &address,
			       fault);
	if (!e)
		e = http_server_start(*server, fault);
	if (!e) {
		printf("%s\n", address.data);
		fflush(stdout);
	}
	buf_release(&address);
	return e;
}

int main(int argc, char **argv)
{
	struct sigaction action = {.sa_handler = on_hangup};
	struct http_server *server = NULL;
	struct fault fault = {0};
	struct thread thread = {0};
	sigset_t hangup;
	enum err e;

	sigaction(SIGHUP, &action, NULL);
	/* Before there are threads: none of them hears it. */
	sigemptyset(&hangup);
	sigaddset(&hangup, SIGHUP);
	pthread_sigmask(SIG_BLOCK, &hangup, NULL);
	mutex_init(&waiting.lock);
	cond_init(&waiting.changed);
	e = open_server(argc, argv, &server, &fault);
	if (!e)
		e = thread_start(&thread, "wait", wait_thread, NULL);
	if (!e)
		serve(server);
	else
		fprintf(stderr, "%s\n", fault.text[0] ? fault.text : err_text(e));
	mutex_lock(&waiting.lock);
	waiting.end = true;
	mutex_unlock(&waiting.lock);
	thread_join(&thread);
	if (server)
		http_server_stop(server, clock_monotonic_ns() + 10 * NS_PER_S);
	http_server_free(server);
	return e ? 1 : 0;
}
