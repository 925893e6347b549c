/*
 * A server without sockets and threads: requests are made of text, handlers run where they are
 * called, and the reply is looked at where it was left.
 */
#pragma once

#include "server/agents.h"
#include "server/rates.h"
#include "server/routes.h"
#include "server/rpc_peer.h"

/*
 * A reply ends its exchange, here at once: who looks at the request afterwards is seen by ASan. The
 * linker puts this before http_reply (tests/meson.build, peer_dep).
 */
void __real_http_reply(struct http_exchange *x, struct http_response *r);
void __wrap_http_reply(struct http_exchange *x, struct http_response *r);
void __wrap_http_reply(struct http_exchange *x, struct http_response *r)
{
	struct exchange *exchange = (struct exchange *)x;

	__real_http_reply(x, r);
	if (exchange->admitted)
		exchange->shared->handlers->finished(exchange->shared->handlers->context, x);
	exchange->admitted = false;
	x->user = NULL;
	arena_release(&x->arena);
}

/* What is asked about everywhere here. */
#define PEER_PROFILE "main;work;inner 70\nmain;work 20\nmain;idle 10\n"
#define PEER_TYPE    "process_cpu:samples:count::"

static inline enum err peer_open(struct server *s)
{
	*s = (struct server){.options = server_options_default};
	s->options.store = store_options_default;
	TRY(store_open(&s->options.store, &s->store, NULL));
	TRY(rates_new(s->options.tenant_rate, &s->rates));
	TRY(agents_new(&s->agents));
	TRY(tenant_counts_new(&s->counts));
	/* Not started: for what counts them. */
	TRY(workers_new(&(struct workers_options){.threads = {1, 1, 1}}, &s->workers));
	return http_server_new(&HTTP_OPTIONS_DEFAULT, &(struct http_handlers){0}, &s->http, NULL);
}

static inline void peer_close(struct server *s)
{
	workers_free(s->workers);
	store_close(s->store);
	http_server_free(s->http);
	rates_free(s->rates);
	agents_free(s->agents);
	tenant_counts_free(s->counts);
	tokens_close(s->tokens);
	audit_close(s->audit);
}

/* Ends with a reply in p->x->reply; release with rpc_peer_release(). */
static inline enum err peer_ask(struct server *s, struct rpc_peer *p, const char *method,
				const char *target, const char *head, struct str body)
{
	struct str text = str_of(target), path = str_n(text.p, str_find(text, '?'));
	struct request *r;

	TRY(rpc_peer_init(p, method, target, str_of(head), body));
	p->handlers = (struct http_handlers){.context = s, .finished = request_finished};
	p->x->http.path = path;
	p->x->http.query = str_skip(text, path.n + 1);
	p->x->http.authority = STR("localhost:4040");
	p->x->http.peer = STR("127.0.0.1:5");
	if (request_admit(s, &p->x->http)) {
		r = p->x->http.user;
		p->x->admitted = true;
		r->route->handle(r);
	}
	return rpc_peer_replied(p) ? ERR_OK : ERR_INTERNAL;
}

static inline int peer_status(struct server *s, const char *method, const char *target,
			      const char *head, struct str body)
{
	struct rpc_peer p = {0};
	enum err error = peer_ask(s, &p, method, target, head, body);
	int status = error ? -1 : p.x->reply.status;

	rpc_peer_release(&p);
	return status;
}

static inline int peer_get(struct server *s, const char *target)
{
	return peer_status(s, "GET", target, "", STR(""));
}

static inline int peer_upload(struct server *s, const char *head)
{
	return peer_status(s, "POST", "/api/v1/profiles?service=checkout&label=commit=abc", head,
			   STR(PEER_PROFILE));
}

/* For ALLOC_SWEEP: what a status means. A status of 0 is a reply there was no memory for. */
static inline enum err peer_outcome(int status)
{
	return status == 200				      ? ERR_OK
	       : status == 503 || status == 0 || status == -1 ? ERR_NO_MEMORY
							      : ERR_INTERNAL;
}
