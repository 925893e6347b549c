/*
 * HTTP/2 after the preface. The first byte says how large the pieces are that the rest comes in,
 * the second what else happens: replies that come late, time that passes, a stop. Whatever comes,
 * every request that was admitted ends, and what handlers see is well formed.
 */
#include <stdlib.h>

#include "net/session_driver.h"

enum { HOLD = 1, TIME = 2, DRAIN = 4, TRAILERS = 8, END = 16 };

struct site {
	struct driver d;
	uint8_t mode;
	struct http_exchange *held[64];
	size_t held_n, admitted, finished;
};

static void require(bool condition)
{
	if (!condition)
		abort();
}

static bool admit(void *context, struct http_exchange *x)
{
	struct site *s = context;

	if (str_starts(x->path, STR("/refuse"))) {
		http_reply_text(x, 403, "text/plain", STR("no"));
		return false;
	}
	s->admitted++;
	return true;
}

static void check(const struct http_exchange *x)
{
	require(x->version == HTTP_2 && x->method.n && x->body.n <= x->max_body);
	for (size_t i = 0; i < x->header_count; i++) {
		struct str name = x->headers[i].name;

		require(name.n && name.p[0] != ':');
		for (size_t k = 0; k < name.n; k++)
			require(!(name.p[k] >= 'A' && name.p[k] <= 'Z'));
		require(str_find(x->headers[i].value, '\n') == x->headers[i].value.n);
	}
}

static void answer(struct site *s, struct http_exchange *x)
{
	struct http_header echo = {STR("x-echo"), http_find(x, STR("x-echo"))};
	struct http_response r = {
		.status = 200, .headers = &echo, .header_count = 1, .body = BUF_INIT(SIZE_MAX)};

	if (s->mode & TRAILERS) {
		r.trailers = &echo;
		r.trailer_count = 1;
	}
	buf_str(&r.body, x->body);
	http_reply(x, &r);
}

static void handle(void *context, struct http_exchange *x)
{
	struct site *s = context;

	check(x);
	if (s->mode & HOLD && s->held_n < sizeof(s->held) / sizeof(s->held[0]))
		s->held[s->held_n++] = x;
	else
		answer(s, x);
}

static void finished(void *context, struct http_exchange *x)
{
	(void)x;
	((struct site *)context)->finished++;
}

static void answer_held(struct site *s)
{
	while (s->held_n)
		answer(s, s->held[--s->held_n]);
}

static void serve(struct site *s, struct str bytes, size_t step)
{
	size_t half = bytes.n / 2;

	driver_input(&s->d, STR(HTTP2_PREFACE));
	for (size_t at = 0; at < bytes.n && !s->d.ended; at += step) {
		driver_input(&s->d, str_n(bytes.p + at, bytes.n - at < step ? bytes.n - at : step));
		if (s->mode & TIME && !s->d.ended)
			driver_wait(&s->d, NS_PER_S);
		if (s->mode & DRAIN && at >= half && !s->d.ended)
			s->d.session->ops->drain(s->d.session);
	}
	answer_held(s);
	if (s->mode & END && !s->d.ended)
		s->d.session->ops->end_of_input(s->d.session);
	if (!s->d.error)
		driver_turn(&s->d);
	for (int i = 0; i < 10 && !s->d.ended; i++)
		driver_wait(&s->d, 60 * NS_PER_S);
	/* Nobody waits for ever. */
	require(s->d.ended);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct site s = {.mode = size > 1 ? data[1] : 0};
	struct http_handlers handlers = {
		.context = &s, .admit = admit, .handle = handle, .finished = finished};

	s.d.options = HTTP_OPTIONS_DEFAULT;
	s.d.options.max_head = 2048;
	s.d.options.max_body = 4096;
	s.d.options.max_streams = 16;
	require(driver_init(&s.d, &handlers, http2_session_new) == ERR_OK);
	if (size > 2)
		serve(&s, str_n(data + 2, size - 2), data[0] ? data[0] : size);
	driver_release(&s.d);
	require(s.finished == s.admitted && s.d.shared.live_exchanges == 0);
	return 0;
}
