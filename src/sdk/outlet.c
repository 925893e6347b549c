#include "sdk/outlet.h"

#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/hash.h"
#include "format/format.h"
#include "sdk/post.h"

#define WAITING_MAX 8u
#define PAUSE_FIRST NS_PER_S
#define PAUSE_MOST  (32 * NS_PER_S)
#define HEADERS_MAX 8192

void outlet_init(struct outlet *o, const struct sdk_settings *s)
{
	*o = (struct outlet){
		.settings = s, .pause_ns = PAUSE_FIRST, .random = (u64)clock_monotonic_ns()};
}

static void drop_first(struct outlet *o)
{
	buf_release(&o->waiting.v[0]);
	memmove(o->waiting.v, o->waiting.v + 1, (--o->waiting.n) * sizeof(*o->waiting.v));
}

void outlet_release(struct outlet *o)
{
	while (o->waiting.n)
		drop_first(o);
	vec_release(&o->waiting);
}

bool outlet_by_interval(const struct outlet *o)
{
	return !o->settings->output[0] || strstr(o->settings->output, "%t");
}

/* ------------------------------------------------------------------ to a server */

void outlet_send(struct outlet *o, const struct profile_list *list)
{
	struct writing w = {.list = list, .type = -1, .compress = o->settings->gzip ? 1 : 0};
	struct buf body = BUF_INIT(o->settings->max_bytes);

	if (o->waiting.n == WAITING_MAX) {
		drop_first(o);
		o->given_up++;
	}
	if (otlp_write(&w, &body) || vec_push(&o->waiting, body)) {
		buf_release(&body);
		o->given_up++;
	}
	notes_release(&w.notes);
}

static enum err send_first(struct outlet *o, int *ret_status)
{
	const struct sdk_settings *s = o->settings;
	char headers[HEADERS_MAX];
	struct post_tls_settings tls = {
		.host = s->host_name, .ca = s->ca, .certificate = s->certificate, .key = s->key};
	struct post p = {.host = s->host_name,
			 .port = s->port,
			 .path = s->path,
			 .headers = headers,
			 .tls = s->tls ? &tls : NULL,
			 .body = buf_view(&o->waiting.v[0]),
			 .deadline_ns = &o->deadline_ns,
			 .idle = o->idle,
			 .context = o->context};

	snprintf(headers, sizeof(headers), "Content-Type: application/x-protobuf\r\n%s%s",
		 s->gzip ? "Content-Encoding: gzip\r\n" : "", s->headers);
	return post_send(&p, ret_status);
}

/* A server that is overloaded or away may take it later; what it refuses it refuses again. */
static bool worth_another_try(enum err e, int status)
{
	return e || status == 429 || status == 502 || status == 503 || status == 504;
}

static void put_off(struct outlet *o)
{
	o->random = hash_mix(o->random, (u64)clock_monotonic_ns());
	/* Between a half and the whole: a hundred clients must not come back at once. */
	o->next_try_ns = clock_monotonic_ns() + o->pause_ns / 2 +
			 (int64_t)(o->random % (u64)(o->pause_ns / 2));
	o->pause_ns = o->pause_ns * 2 < PAUSE_MOST ? o->pause_ns * 2 : PAUSE_MOST;
}

static int64_t earlier(int64_t a, int64_t b)
{
	return b && b < a ? b : a;
}

void outlet_turn(struct outlet *o, bool last)
{
	while (o->waiting.n) {
		int64_t now = clock_monotonic_ns();
		int status = 0;
		enum err e;

		if (last ? now >= o->no_later : now < o->next_try_ns)
			return;
		o->deadline_ns =
			earlier(now + (int64_t)o->settings->timeout_ms * NS_PER_MS, o->no_later);
		e = send_first(o, &status);
		if (worth_another_try(e, status)) {
			put_off(o);
			/* At the end there is no later. */
			if (!last)
				return;
			o->given_up += o->waiting.n;
			return;
		}
		o->pause_ns = PAUSE_FIRST;
		o->next_try_ns = 0;
		if (status >= 200 && status < 300)
			o->delivered++;
		else
			o->given_up++;
		drop_first(o);
	}
}

/* ------------------------------------------------------------------ to files */

enum err outlet_path(const char *pattern, int pid, int64_t wall_ns, char *ret, size_t size)
{
	CLEANUP(buf_release) struct buf path = BUF_INIT(size - 1);

	for (const char *at = pattern; *at; at++) {
		if (at[0] != '%' || !at[1] || !strchr("pt%", at[1])) {
			buf_byte(&path, (unsigned char)*at);
			continue;
		}
		at++;
		if (*at == 'p')
			buf_i64(&path, pid);
		else if (*at == 't')
			buf_i64(&path, wall_ns / NS_PER_MS);
		else
			buf_byte(&path, '%');
	}
	TRY(buf_error(&path));
	memcpy(ret, path.data, path.n);
	ret[path.n] = 0;
	return ERR_OK;
}

void outlet_save(struct outlet *o, const struct profile_list *list)
{
	struct writing w = {.list = list, .type = -1, .compress = 1};
	struct buf body = BUF_INIT(o->settings->max_bytes);
	char path[OUTPUT_PATH_MAX];
	struct str name;
	enum err e =
		outlet_path(o->settings->output, getpid(), clock_wall_ns(), path, sizeof(path));

	name = str_of(e ? "" : path);
	if (str_ends(name, STR(".pb")) || str_ends(name, STR(".otlp")))
		w.compress = 0;
	if (!e)
		e = str_search(name, STR(".otlp")) < name.n ? otlp_write(&w, &body)
							    : pprof_write(&w, &body);
	if (!e)
		e = file_write(path, buf_view(&body), OUTPUT_FORCE | OUTPUT_NO_SYNC, NULL);
	if (e)
		o->given_up++;
	else
		o->delivered++;
	buf_release(&body);
	notes_release(&w.notes);
}
