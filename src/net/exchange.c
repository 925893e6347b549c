#include "net/session.h"

#include <stdio.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/work_scope.h"
#include "net/buf_pool.h"

#define BODY_STEP (256u << 10) /* what a sender's word about its length is worth */
#define ARENA_MAX (64u << 20)
#define BLOCK_MAX (1u << 20)  /* of reply headers */
#define SMALL	  (16u << 10) /* below it, charging costs more than it is worth */
#define COUNT_MAX 256

static struct str copy_text(char **at, struct str text)
{
	char *copy = *at;

	if (text.n)
		memcpy(copy, text.p, text.n);
	*at += text.n;
	return str_n(copy, text.n);
}

struct exchange *exchange_new(struct session *s, size_t extra, void **ret_extra)
{
	/* After the exchange, aligned for any type; followed by names, which handlers may read
	 * after the connection was closed. */
	size_t head = (sizeof(struct exchange) + 15) & ~(size_t)15;
	size_t names = s->peer->text.n + s->peer->certificate.n;
	struct exchange *x = extra <= BLOCK_MAX ? mem_alloc(head + extra + names) : NULL;
	char *at = (char *)x + head + extra;

	if (!x)
		return NULL;
	memset(x, 0, sizeof(*x));
	x->http.peer = copy_text(&at, s->peer->text);
	x->http.certificate = copy_text(&at, s->peer->certificate);
	x->http.port = s->peer->port;
	x->http.peer_is_local = s->peer->is_local;
	x->http.peer_uid = s->peer->uid;
	x->http.max_body = s->shared->options->max_body;
	x->http.started_ns = s->shared->now_ns;
	arena_init(&x->http.arena, ARENA_MAX);
	atomic_init(&x->http.gone, false);
	x->shared = s->shared;
	x->session = s;
	x->next = s->exchanges;
	if (x->next)
		x->next->previous = x;
	s->exchanges = x;
	s->shared->live_exchanges++;
	if (ret_extra)
		*ret_extra = (char *)x + head;
	return x;
}

static void exchange_end(struct exchange *x)
{
	const struct http_handlers *handlers = x->shared->handlers;

	if (x->admitted && handlers->finished)
		handlers->finished(handlers->context, &x->http);
	x->shared->live_exchanges--;
	buf_pool_put(x->shared->pool, &x->body);
	memory_hold_release(&x->received);
	arena_release(&x->http.arena);
	buf_release(&x->reply.body);
	memory_hold_release(&x->reply.hold);
	memory_account_put(x->http.account);
	client_drop_request(x->client);
	mem_free(x->reply.block);
	mem_free(x);
}

bool exchange_admit(struct exchange *x)
{
	const struct http_handlers *handlers = x->shared->handlers;

	counter_add(&x->shared->counters.requests, 1);
	x->admitted = !handlers->admit || handlers->admit(handlers->context, &x->http);
	x->owed = !x->admitted;
	return x->admitted;
}

enum err http_count_for(struct http_exchange *http, struct str client, struct fault *fault)
{
	struct exchange *x = (struct exchange *)http;
	struct session *s = x->session;
	enum err error;

	if (!x->shared->clients || x->client)
		return ERR_OK;
	error = clients_count(x->shared->clients, client, &s->client, &x->client, fault);
	x->uncounted = error != ERR_OK && !s->client;
	return error;
}

static void body_begin(struct exchange *x)
{
	if (!x->body.data)
		x->body = buf_pool_get(x->shared->pool, x->http.max_body);
}

/* Room for `n` more, charged before it is taken: the buffer grows by half as much again. */
static enum err body_charge(struct exchange *x, size_t n)
{
	size_t need = x->body.n + n + 1, grown = x->body.cap + x->body.cap / 2;

	if (!x->http.account || need <= x->body.cap || need <= SMALL)
		return ERR_OK;
	return memory_hold_grow(&x->received, x->http.account, MEMORY_RECEIVED,
				need > grown ? need : grown, NULL);
}

/* Its final size. */
static void body_charged(struct exchange *x)
{
	if (x->received.account && x->received.n != x->body.cap)
		memory_hold_set(&x->received, x->http.account, MEMORY_RECEIVED, x->body.cap);
}

enum err exchange_body(struct exchange *x, struct str bytes)
{
	body_begin(x);
	/* Read straight into its place: only the length moves. */
	if (x->body.data && bytes.p == x->body.data + x->body.n &&
	    bytes.n < x->body.cap - x->body.n) {
		x->body.n += bytes.n;
		x->body.data[x->body.n] = '\0';
		return ERR_OK;
	}
	TRY(body_charge(x, bytes.n));
	buf_append(&x->body, bytes.p, bytes.n);
	body_charged(x);
	return buf_error(&x->body);
}

char *exchange_body_room(struct exchange *x, uint64_t expected, size_t *ret_n)
{
	size_t want = expected < BODY_STEP ? (size_t)expected : BODY_STEP;
	char *room;

	body_begin(x);
	/* Without room the bytes come another way, where they are refused. */
	*ret_n = 0;
	if (body_charge(x, want))
		return NULL;
	room = buf_reserve(&x->body, want);
	body_charged(x);
	*ret_n = room ? want : 0;
	return room;
}

bool exchange_refuse(struct exchange *x, enum err error)
{
	const struct http_handlers *handlers = x->shared->handlers;

	if (!handlers->refuse)
		return false;
	buf_release(&x->body);
	memory_hold_release(&x->received);
	x->owed = true;
	handlers->refuse(handlers->context, &x->http, error);
	return true;
}

void exchange_handle(struct exchange *x)
{
	const struct http_handlers *handlers = x->shared->handlers;

	x->http.body = buf_view(&x->body);
	x->owed = true;
	if (http_find(&x->http, STR("vestal-timing")).n)
		x->received_ns = clock_monotonic_ns();
	handlers->handle(handlers->context, &x->http);
}

void exchange_drop(struct exchange *x)
{
	if (x->previous)
		x->previous->next = x->next;
	else
		x->session->exchanges = x->next;
	if (x->next)
		x->next->previous = x->previous;
	x->session = NULL;
	if (x->replied || !x->owed)
		exchange_end(x);
	else
		atomic_store_explicit(&x->http.gone, true, memory_order_relaxed);
}

static void tell_timing(struct exchange *x)
{
	int64_t begun = x->http.begun_ns ? x->http.begun_ns : x->received_ns;

	snprintf(x->reply.timing, sizeof(x->reply.timing), "queue;dur=%.3f, total;dur=%.3f",
		 (double)(begun - x->received_ns) / NS_PER_MS,
		 (double)(clock_monotonic_ns() - x->received_ns) / NS_PER_MS);
}

void exchange_deliver(struct exchange *x)
{
	if (x->received_ns)
		tell_timing(x);
	x->replied = true;
	if (x->session)
		x->session->ops->reply(x->session, x);
	else
		exchange_end(x);
}

void session_gone(struct session *s)
{
	for (struct exchange *x = s->exchanges; x; x = x->next)
		if (x->owed && !x->replied)
			atomic_store_explicit(&x->http.gone, true, memory_order_relaxed);
}

void session_free(struct session *s)
{
	if (!s)
		return;
	while (s->exchanges)
		exchange_drop(s->exchanges);
	outqueue_release(&s->out);
	client_drop_connection(s->client);
	s->ops->free(s);
}

struct str http_find(const struct http_exchange *x, struct str name)
{
	for (size_t i = 0; i < x->header_count; i++)
		if (str_eq(x->headers[i].name, name))
			return x->headers[i].value;
	return (struct str){NULL, 0};
}

/* Copies pairs to `*at` and advances it. */
static const struct http_header *copy_pairs(struct http_header *pairs, char **at,
					    const struct http_header *from, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct str *both[] = {&pairs[i].name, &pairs[i].value};

		pairs[i] = from[i];
		for (size_t k = 0; k < 2; k++) {
			if (both[k]->n)
				memcpy(*at, both[k]->p, both[k]->n);
			both[k]->p = *at;
			*at += both[k]->n;
		}
	}
	return pairs;
}

static size_t pairs_size(const struct http_header *pairs, size_t count)
{
	size_t size = 0;

	for (size_t i = 0; i < count && size <= BLOCK_MAX; i++)
		size += sizeof(*pairs) + pairs[i].name.n + pairs[i].value.n;
	return size;
}

static enum err copy_headers(struct reply *to, const struct http_response *r)
{
	size_t count = r->header_count + r->trailer_count;
	size_t size =
		pairs_size(r->headers, r->header_count) + pairs_size(r->trailers, r->trailer_count);
	struct http_header *pairs;
	char *at;

	if (r->header_count > COUNT_MAX || r->trailer_count > COUNT_MAX || size > BLOCK_MAX)
		return ERR_TOO_LARGE;
	pairs = mem_alloc(size);
	if (!pairs)
		return ERR_NO_MEMORY;
	at = (char *)(pairs + count);
	to->block = pairs;
	to->headers = copy_pairs(pairs, &at, r->headers, r->header_count);
	to->header_count = r->header_count;
	to->trailers = copy_pairs(pairs + r->header_count, &at, r->trailers, r->trailer_count);
	to->trailer_count = r->trailer_count;
	return ERR_OK;
}

void http_reply(struct http_exchange *http, struct http_response *r)
{
	struct exchange *x = (struct exchange *)http;

	work_scope_ease();
	x->reply = (struct reply){.status = r->status,
				  .body = r->body,
				  .static_body = r->static_body,
				  .head_only = r->head_only,
				  .close = r->close || x->uncounted};
	/* Do not send an incomplete body. */
	if (r->body.error || copy_headers(&x->reply, r))
		x->reply.status = 0;
	r->body = BUF_INIT(r->body.ceiling);
	if (x->reply.body.cap > SMALL)
		memory_hold_set(&x->reply.hold, http->account, MEMORY_UNSENT, x->reply.body.cap);
	x->mail.kind = MAIL_REPLY;
	mailbox_post(&x->shared->mailbox, &x->mail);
}

void http_reply_text(struct http_exchange *x, int status, const char *content_type, struct str text)
{
	struct http_header type = {STR("content-type"), str_of(content_type)};
	struct http_response r = {
		.status = status, .headers = &type, .header_count = 1, .body = BUF_INIT(SIZE_MAX)};

	buf_str(&r.body, text);
	http_reply(x, &r);
}
