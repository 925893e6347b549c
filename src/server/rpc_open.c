/*
 * The head of a call: which protocol, which method, how long the client waits.
 */
#include <strings.h>

#include "base/clock.h"
#include "server/rpc.h"

#define TIMEOUT_DIGITS_MAX 10 /* Connect's; gRPC has eight */

static const struct content_type {
	struct str name;
	enum rpc_protocol protocol;
	bool json;
} content_types[] = {
	{STR("application/grpc"), RPC_GRPC, false},
	{STR("application/grpc+proto"), RPC_GRPC, false},
	{STR("application/grpc+json"), RPC_GRPC, true},
	{STR("application/grpc-web"), RPC_GRPC_WEB, false},
	{STR("application/grpc-web+proto"), RPC_GRPC_WEB, false},
	{STR("application/grpc-web+json"), RPC_GRPC_WEB, true},
	{STR("application/proto"), RPC_CONNECT, false},
	{STR("application/json"), RPC_CONNECT, true},
};

/* "application/json; charset=utf-8" is application/json. */
static const struct content_type *content_type(const struct http_exchange *x)
{
	struct str type = http_find(x, STR("content-type"));

	type = str_trim(str_n(type.p, str_find(type, ';')));
	for (size_t i = 0; i < sizeof(content_types) / sizeof(content_types[0]); i++)
		if (type.n == content_types[i].name.n &&
		    strncasecmp(type.p, content_types[i].name.p, type.n) == 0)
			return &content_types[i];
	return NULL;
}

bool rpc_is_call(const struct http_exchange *x)
{
	return content_type(x) != NULL;
}

/* Refusals that no protocol has words for. */
static bool refuse(struct http_exchange *x, int status, struct str name, struct str value)
{
	struct http_header header = {name, value};
	struct http_response r = {.status = status, .headers = &header, .header_count = 1};

	http_reply(x, &r);
	return false;
}

static bool parse_digits(struct str text, uint64_t *ret)
{
	return text.n && text.n <= TIMEOUT_DIGITS_MAX && text.p[0] >= '0' && text.p[0] <= '9' &&
	       str_to_u64(text, 10, ret) == ERR_OK;
}

/* "100m" is 100 milliseconds. */
static bool parse_grpc_timeout(struct str text, int64_t *ret_ns)
{
	static const char units[] = "HMSmun";
	static const int64_t sizes[] = {3600 * NS_PER_S, 60 * NS_PER_S, NS_PER_S,
					NS_PER_MS,	 NS_PER_US,	1};
	const char *unit = text.n > 1 && text.n <= 9 && text.p[text.n - 1]
				   ? strchr(units, text.p[text.n - 1])
				   : NULL;
	uint64_t value;

	if (!unit || !parse_digits(str_n(text.p, text.n - 1), &value))
		return false;
	/* Two and a half centuries are enough. */
	if (__builtin_mul_overflow((int64_t)value, sizes[unit - units], ret_ns))
		*ret_ns = INT64_MAX;
	return true;
}

static bool parse_connect_timeout(struct str text, int64_t *ret_ns)
{
	uint64_t value;

	if (!parse_digits(text, &value))
		return false;
	*ret_ns = (int64_t)value * NS_PER_MS;
	return true;
}

static bool parse_timeout(struct rpc_call *c)
{
	bool connect = c->protocol == RPC_CONNECT;
	struct str text =
		http_find(c->x, connect ? STR("connect-timeout-ms") : STR("grpc-timeout"));
	int64_t ns;

	c->deadline_ns = INT64_MAX;
	if (!text.p)
		return true;
	if (!(connect ? parse_connect_timeout(text, &ns) : parse_grpc_timeout(text, &ns))) {
		rpc_fail(c, ERR_BAD_ARGUMENT, "the timeout is not valid", 0);
		return false;
	}
	if (__builtin_add_overflow(c->x->started_ns, ns, &c->deadline_ns))
		c->deadline_ns = INT64_MAX;
	return true;
}

static void split_path(struct rpc_call *c)
{
	struct str path = c->x->path;
	size_t slash = str_rfind(path, '/');

	if (slash == path.n)
		return;
	c->method = str_skip(path, slash + 1);
	path.n = slash;
	slash = str_rfind(path, '/');
	if (slash == path.n)
		return;
	c->service = str_skip(path, slash + 1);
	c->prefix = str_n(path.p, slash);
}

bool rpc_open(struct rpc_call *c, struct http_exchange *x)
{
	const struct content_type *type = content_type(x);
	struct str version = http_find(x, STR("connect-protocol-version"));

	*c = (struct rpc_call){.x = x};
	if (!str_eq(x->method, STR("POST")))
		return refuse(x, 405, STR("allow"), STR("POST"));
	if (!type)
		return refuse(
			x, 415, STR("accept-post"),
			STR("application/grpc, application/grpc+proto, application/grpc+json, "
			    "application/grpc-web, application/grpc-web+proto, "
			    "application/grpc-web+json, application/proto, "
			    "application/json"));
	c->protocol = type->protocol;
	c->json = type->json;
	split_path(c);
	if (c->protocol == RPC_CONNECT && version.p && !str_eq(version, STR("1"))) {
		rpc_fail(c, ERR_BAD_ARGUMENT, "connect-protocol-version must be \"1\"", 0);
		return false;
	}
	return parse_timeout(c);
}

bool rpc_is_late(const struct rpc_call *c)
{
	return atomic_load_explicit(&c->x->gone, memory_order_relaxed) ||
	       (c->deadline_ns != INT64_MAX && clock_monotonic_ns() >= c->deadline_ns);
}
