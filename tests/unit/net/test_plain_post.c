/* A POST without libcurl, against servers that answer in every way there is. */
#include <netinet/in.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/thread.h"
#include "net/net.h"
#include "net/plain_answer.h"

#include "test.h"

/* Takes one request and says `answer`, a few bytes at a time. */
struct peer {
	int listener;
	uint16_t port;
	const char *answer;
	size_t piece;
	bool silent; /* keeps the connection and says no more */
	struct buf request;
	struct thread thread;
	atomic_bool stop;
};

static bool has_all(const struct buf *request)
{
	size_t head = str_search(buf_view(request), STR("\r\n\r\n"));
	const char *length = request->n ? strstr(request->data, "Content-Length: ") : NULL;

	return head < request->n && length && request->n >= head + 4 + (size_t)atoi(length + 16);
}

static void serve(void *context)
{
	struct peer *p = context;
	int fd = accept4(p->listener, NULL, NULL, SOCK_CLOEXEC);
	char room[4096];
	ssize_t n;

	while (fd >= 0 && !has_all(&p->request) && (n = read(fd, room, sizeof(room))) > 0)
		buf_append(&p->request, room, (size_t)n);
	for (size_t at = 0; fd >= 0 && at < strlen(p->answer); at += p->piece) {
		size_t left = strlen(p->answer) - at;

		if (write(fd, p->answer + at, left < p->piece ? left : p->piece) < 0)
			break;
		clock_sleep_ns(NS_PER_MS / 10);
	}
	while (p->silent && !atomic_load(&p->stop))
		clock_sleep_ns(NS_PER_MS);
	if (fd >= 0)
		close(fd);
}

static enum err peer_open(struct peer *p, const char *answer, size_t piece)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof(a);

	*p = (struct peer){.answer = answer, .piece = piece, .request = BUF_INIT(1 << 20)};
	p->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (bind(p->listener, (struct sockaddr *)&a, size) || listen(p->listener, 1) ||
	    getsockname(p->listener, (struct sockaddr *)&a, &size))
		return ERR_IO;
	p->port = ntohs(a.sin_port);
	return ERR_OK;
}

static void peer_close(struct peer *p)
{
	atomic_store(&p->stop, true);
	thread_join(&p->thread);
	close(p->listener);
	buf_release(&p->request);
}

struct outcome {
	enum err e;
	struct buf body;
	struct fetch_failure failure;
	struct fault fault;
};

static void outcome_release(struct outcome *o)
{
	buf_release(&o->body);
}

static void post(struct peer *p, double timeout, struct outcome *ret)
{
	static const char *const headers[] = {"Content-Type: text/plain", "X-About: us", NULL};
	struct fetch f = {.user_agent = "test",
			  .timeout = timeout,
			  .headers = headers,
			  .post = true,
			  .body = STR("question"),
			  .failure = &ret->failure};
	char url[64];

	snprintf(url, sizeof(url), "http://127.0.0.1:%u/path?x=1", p->port);
	f.url = url;
	*ret = (struct outcome){.body = BUF_INIT(100)};
	ret->e = plain_post(&f, &ret->body, &ret->fault);
}

/* The same answer whole, in pieces of seven bytes, and byte by byte. */
static void ask(const char *answer, size_t piece, struct outcome *ret)
{
	struct peer p;

	*ret = (struct outcome){.e = ERR_INTERNAL};
	if (peer_open(&p, answer, piece) == ERR_OK &&
	    thread_start(&p.thread, "peer", serve, &p) == ERR_OK)
		post(&p, 20, ret);
	peer_close(&p);
}

static const size_t pieces[] = {10000, 7, 1};
#define EACH_PIECE(piece) for (const size_t *piece = pieces; piece < pieces + 3; piece++)

TEST(a_request_is_sent_whole)
{
	CLEANUP(outcome_release) struct outcome o;
	CLEANUP(peer_close) struct peer p;
	char head[80];

	CHECK_OK(peer_open(&p, "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nanswer", 100));
	CHECK_OK(thread_start(&p.thread, "peer", serve, &p));
	post(&p, 20, &o);
	CHECK_OK(o.e);
	CHECK_STR(buf_view(&o.body), "answer");
	thread_join(&p.thread);
	snprintf(head, sizeof(head), "POST /path?x=1 HTTP/1.1\r\nHost: 127.0.0.1:%u\r\n", p.port);
	CHECK(str_starts(buf_view(&p.request), str_of(head)));
	CHECK(strstr(p.request.data, "\r\nUser-Agent: test\r\n") &&
	      strstr(p.request.data, "\r\nX-About: us\r\n") &&
	      strstr(p.request.data, "\r\nContent-Length: 8\r\n"));
	CHECK(str_ends(buf_view(&p.request), STR("\r\n\r\nquestion")));
}

TEST(answers_of_every_length_are_read)
{
	static const char *const answers[] = {
		"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nbodyandmore",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: "
		"chunked\r\n\r\n2\r\nbo\r\n2\r\ndy\r\n0\r\n\r\n",
		"HTTP/1.0 200 OK\r\nServer: old\r\n\r\nbody",
		"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 202 Accepted\r\nContent-Length: "
		"4\r\n\r\nbody",
	};

	for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++)
		EACH_PIECE(piece)
		{
			CLEANUP(outcome_release) struct outcome o;

			ask(answers[i], *piece, &o);
			CHECK_OK(o.e);
			CHECK_STR(buf_view(&o.body), "body");
		}
}

TEST(an_answer_without_a_body_ends_with_its_head)
{
	CLEANUP(outcome_release) struct outcome o;
	CLEANUP(peer_close) struct peer p;

	CHECK_OK(peer_open(&p, "HTTP/1.1 204 No Content\r\n\r\n", 100));
	p.silent = true;
	CHECK_OK(thread_start(&p.thread, "peer", serve, &p));
	post(&p, 20, &o);
	CHECK_OK(o.e);
	CHECK_INT(o.body.n, 0);
}

TEST(a_refusal_says_its_status_its_pause_and_its_reason)
{
	EACH_PIECE(piece)
	{
		CLEANUP(outcome_release) struct outcome o;

		ask("HTTP/1.1 503 Busy\r\nRetry-After: 17\r\nContent-Length: 9\r\n\r\nnot now\r\n",
		    *piece, &o);
		CHECK_ERR(o.e, ERR_NETWORK);
		CHECK(o.failure.status == 503 && o.failure.retry_after == 17 &&
		      o.failure.body_size == 9 && !memcmp(o.failure.body, "not now", 7));
		CHECK_STR(str_of(o.fault.text), "HTTP status 503: not now");
		CHECK_INT(o.body.n, 0);
	}
}

TEST(what_is_not_that_plain_is_left_to_others)
{
	static const char *const urls[] = {"https://127.0.0.1/",
					   "http://me:secret@127.0.0.1:1/",
					   "http://",
					   "http://[::1",
					   "ftp://x/",
					   "http://x?y"};
	CLEANUP(outcome_release) struct outcome o;
	struct fetch f = {.post = true, .timeout = 1};
	struct buf body = BUF_INIT(10);

	for (size_t i = 0; i < sizeof(urls) / sizeof(urls[0]); i++) {
		f.url = urls[i];
		CHECK_ERR(plain_post(&f, &body, NULL), ERR_UNSUPPORTED);
	}
	ask("HTTP/1.1 307 There\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n", 99,
	    &o);
	CHECK_ERR(o.e, ERR_UNSUPPORTED);
	setenv("http_proxy", "http://127.0.0.1:1", 1);
	f.url = "http://127.0.0.1:1/";
	CHECK_ERR(plain_post(&f, &body, NULL), ERR_UNSUPPORTED);
	unsetenv("http_proxy");
}

TEST(answers_that_are_wrong_are_no_answers)
{
	static const char *const answers[] = {
		"SMTP ready\r\n\r\n",
		"HTTP/1.1 xyz\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nfew",
		"HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\nfew",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nbo\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nbo\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nbody",
		"HTTP/1.1 200 OK\r\n",
		"",
	};

	for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++)
		EACH_PIECE(piece)
		{
			CLEANUP(outcome_release) struct outcome o;

			ask(answers[i], *piece, &o);
			CHECK_ERR(o.e, ERR_NETWORK);
			CHECK(o.failure.status == 0 && o.fault.text[0]);
			CHECK_INT(o.body.n, 0);
		}
}

TEST(an_answer_has_a_ceiling)
{
	CLEANUP(outcome_release) struct outcome o;
	char answer[300];

	snprintf(answer, sizeof(answer), "HTTP/1.1 200 OK\r\n\r\n%0200d", 1);
	ask(answer, 10000, &o);
	CHECK_ERR(o.e, ERR_TOO_LARGE);
	CHECK_INT(o.body.n, 0);
}

TEST(nobody_there_and_nobody_who_answers)
{
	CLEANUP(outcome_release) struct outcome o = {0}, late = {0};
	CLEANUP(peer_close) struct peer p;

	CHECK_OK(peer_open(&p, "HTTP/1.1 200 OK\r\n", 100));
	p.silent = true;
	CHECK_OK(thread_start(&p.thread, "peer", serve, &p));
	post(&p, 0.2, &late);
	CHECK_ERR(late.e, ERR_TIMEOUT);
	peer_close(&p);
	post(&p, 20, &o);
	CHECK_ERR(o.e, ERR_NETWORK);
	CHECK(o.failure.unreachable && strstr(o.fault.text, "127.0.0.1"));
	CHECK_OK(peer_open(&p, "", 1));
}

static enum err sweep(void)
{
	static const char whole[] =
		"HTTP/1.1 100 C\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbody";
	struct buf body = BUF_INIT(100);
	struct plain_answer a;
	enum err e = ERR_OK;

	plain_answer_init(&a, &body);
	for (size_t i = 0; !e && i + 1 < sizeof(whole); i++)
		e = plain_answer_add(&a, str_n(whole + i, 1));
	plain_answer_release(&a);
	buf_release(&body);
	return e;
}

TEST(an_answer_without_memory)
{
	ALLOC_SWEEP(sweep());
}
