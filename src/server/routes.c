#include "server/routes.h"

static const struct route *const lists[] = {
	ingest_routes, rpc_routes, api_routes, render_routes, page_routes, health_routes,
};

static bool path_matches(const struct route *route, struct str path)
{
	struct str pattern = str_of(route->path);

	if (pattern.p[pattern.n - 1] == '*')
		return str_starts(path, str_n(pattern.p, pattern.n - 1));
	return str_eq(path, pattern);
}

static bool method_matches(const struct route *route, struct str method)
{
	struct str methods = str_of(route->methods), one;

	while (str_split(&methods, ' ', &one))
		if (str_eq(one, method) || (str_eq(one, STR("GET")) && str_eq(method, STR("HEAD"))))
			return true;
	return false;
}

/* "/pyroscope/…" is the same without the prefix: Grafana's proxies put it there. */
static struct str without_prefix(struct str path)
{
	static const struct str prefix = STR("/pyroscope");

	if (str_starts(path, STR("/pyroscope/")))
		return str_skip(path, prefix.n);
	return path;
}

const struct route *route_at(size_t index)
{
	for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++)
		for (const struct route *r = lists[i]; r->path; r++)
			if (!index--)
				return r;
	return NULL;
}

enum err route_find(const struct http_exchange *x, const struct route **ret, const char **ret_allow,
		    struct fault *fault)
{
	struct str path = without_prefix(x->path);
	const struct route *other = NULL;

	for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++)
		for (const struct route *r = lists[i]; r->path; r++) {
			if (!path_matches(r, path))
				continue;
			if (method_matches(r, x->method)) {
				*ret = r;
				return ERR_OK;
			}
			other = r;
		}
	*ret = NULL;
	if (other)
		*ret_allow = strcmp(other->methods, "GET") ? other->methods : "GET, HEAD";
	if (other)
		return fault_set(fault, ERR_BAD_METHOD, "%.*s requires the method %s",
				 (int)(path.n < 100 ? path.n : 100), path.p, other->methods);
	if (route_is_for_nowhere(x)) {
		*ret = &nowhere_route;
		return ERR_OK;
	}
	return fault_set(fault, ERR_NOT_FOUND, "%.*s does not exist; docs/api.md lists the paths",
			 (int)(path.n < 100 ? path.n : 100), path.p);
}
