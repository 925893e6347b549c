#include "server/rpc_route.h"

#include "server/routes.h"

/* The call, opened once: on the way in, or when the request is refused before that. */
static struct rpc_call *open_call(struct request *r)
{
	struct rpc_call *c = r->call;

	if (c)
		return c;
	c = arena_zalloc(&r->x->arena, 1, sizeof(*c));
	if (!c) {
		http_reply_text(r->x, 503, "text/plain", STR("out of memory\n"));
		return NULL;
	}
	if (!rpc_open(c, r->x))
		return NULL;
	r->call = c;
	if (r->server->options.cors_origin)
		c->extra = (struct http_header){STR("access-control-allow-origin"),
						str_of(r->server->options.cors_origin)};
	return c;
}

void rpc_route_fail(struct request *r, enum err error, const char *text)
{
	struct rpc_call *c = open_call(r);

	if (c)
		rpc_fail(c, error, text, 0);
}

struct rpc_call *rpc_route_read(struct request *r)
{
	struct limits limits = LIMITS_DEFAULT;

	/* Look it up first: if the call cannot be opened, it has replied and the request is
	 * invalid. */
	limits.max_bytes = request_max_inflated(r);
	struct rpc_call *c = open_call(r);

	return c && rpc_read(c, &limits) ? c : NULL;
}

static enum err answer(struct request *r, const struct rpc_method *method, struct arena *scope,
		       struct buf *out, struct fault *fault)
{
	struct rpc_call *c = r->call;
	void *in = arena_zalloc(scope, 1, method->request->size);
	void *reply = arena_zalloc(scope, 1, method->reply->size);

	if (!in || !reply)
		return ERR_NO_MEMORY;
	TRY(message_read(method->request, c->message, c->json, scope, in, fault));
	TRY(method->call(r, in, reply, scope, fault));
	message_write(method->reply, reply, c->json, out);
	return buf_error(out);
}

void rpc_route_handle(struct request *r)
{
	struct buf out = BUF_INIT(r->server->options.query_memory);
	struct rpc_call *c = rpc_route_read(r);
	struct arena scope;
	struct fault fault = {0};
	enum err error;

	if (!c)
		return;
	arena_init(&scope, r->server->options.query_memory);
	error = answer(r, r->route->data, &scope, &out, &fault);
	arena_release(&scope);
	if (error == ERR_OK)
		rpc_reply(c, &out);
	else
		request_fail(r, error, &fault);
	buf_release(&out);
}
