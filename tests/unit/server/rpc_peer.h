/*
 * A request without a connection: made of text, its reply looked at where http_reply left it. Unit
 * tests and the fuzz target of calls share it.
 */
#pragma once

#include "base/clock.h"
#include "net/session.h"
#include "server/rpc.h"

struct rpc_peer {
	struct http_options options;
	struct http_handlers handlers;
	struct session_shared shared;
	struct session_peer peer;
	struct session session;
	struct exchange *x;
	struct http_header headers[16];
};

/* `head` has "name: value\n" lines. */
static inline enum err rpc_peer_init(struct rpc_peer *p, const char *method, const char *path,
				     struct str head, struct str body)
{
	struct str line;
	size_t n = 0;

	*p = (struct rpc_peer){.options = HTTP_OPTIONS_DEFAULT};
	p->shared = (struct session_shared){
		.options = &p->options, .handlers = &p->handlers, .now_ns = clock_monotonic_ns()};
	mailbox_init(&p->shared.mailbox);
	p->session = (struct session){.shared = &p->shared, .peer = &p->peer};
	while (n < 16 && str_split(&head, '\n', &line)) {
		size_t colon = str_find(line, ':');

		p->headers[n].name = str_n(line.p, colon);
		p->headers[n++].value = str_trim(str_skip(line, colon + 1));
	}
	p->x = exchange_new(&p->session, 0, NULL);
	if (!p->x)
		return ERR_NO_MEMORY;
	p->x->http.method = str_of(method);
	p->x->http.path = str_of(path);
	p->x->http.headers = p->headers;
	p->x->http.header_count = n;
	p->x->http.body = body;
	return ERR_OK;
}

static inline bool rpc_peer_replied(struct rpc_peer *p)
{
	return mailbox_take(&p->shared.mailbox) != NULL;
}

static inline struct str rpc_peer_find(const struct http_header *headers, size_t n,
				       const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (str_eq(headers[i].name, str_of(name)))
			return headers[i].value;
	return (struct str){NULL, 0};
}

static inline struct str rpc_peer_header(const struct rpc_peer *p, const char *name)
{
	return rpc_peer_find(p->x->reply.headers, p->x->reply.header_count, name);
}

static inline struct str rpc_peer_body(const struct rpc_peer *p)
{
	return p->x->reply.static_body.p ? p->x->reply.static_body : buf_view(&p->x->reply.body);
}

static inline void rpc_peer_release(struct rpc_peer *p)
{
	if (p->x)
		exchange_drop(p->x);
	mailbox_release(&p->shared.mailbox);
}
