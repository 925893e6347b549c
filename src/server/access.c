#include "server/access.h"

#include <strings.h>

#include "server/rates.h"

static bool starts_with_word(struct str text, struct str word)
{
	return text.n >= word.n && !strncasecmp(text.p, word.p, word.n);
}

/* "Bearer x", or the password of "Basic …": clients of Pyroscope have only that to set. */
static struct str bearer(struct request *r)
{
	static const struct str bearer_word = STR("bearer "), basic_word = STR("basic ");
	struct str header = http_find(r->x, STR("authorization"));

	if (starts_with_word(header, bearer_word))
		return str_trim(str_skip(header, bearer_word.n));
	if (starts_with_word(header, basic_word))
		return basic_password(&r->x->arena, str_trim(str_skip(header, basic_word.n)));
	return (struct str){0};
}

static enum err find_tenant(struct request *r, struct fault *fault)
{
	struct str header = http_find(r->x, STR("x-scope-orgid"));

	r->tenant = STR(DEFAULT_TENANT);
	if (!header.n || !r->server->options.trust_tenant_header)
		return ERR_OK;
	if (!tenant_valid(header))
		return fault_set(fault, ERR_BAD_ARGUMENT, "X-Scope-OrgID is no name of a tenant");
	r->tenant = header;
	return ERR_OK;
}

static enum err identify(struct request *r, struct tokens *tokens, struct fault *fault)
{
	struct token_info *info;

	r->rights = TOKEN_READ | TOKEN_WRITE | TOKEN_ADMIN;
	if (!tokens)
		return find_tenant(r, fault);
	r->rights = 0;
	if (r->route->flags & ROUTE_OPEN)
		return ERR_OK;
	info = arena_zalloc(&r->x->arena, 1, sizeof(*info));
	if (!info)
		return ERR_NO_MEMORY;
	if (tokens_check(tokens, bearer(r), info) != ERR_OK)
		return fault_set(fault, ERR_UNAUTHENTICATED,
				 "a token is needed: Authorization: Bearer vst_…");
	r->rights = info->rights;
	r->tenant = str_of(info->tenant);
	r->token_id = str_of(info->id);
	return ERR_OK;
}

static enum err authorize(const struct request *r, struct fault *fault)
{
	static const struct {
		unsigned flag, right;
		const char *name;
	} needs[] = {{ROUTE_READ, TOKEN_READ, "read"},
		     {ROUTE_WRITE, TOKEN_WRITE, "write"},
		     {ROUTE_ADMIN, TOKEN_ADMIN, "admin"}};

	for (size_t i = 0; i < 3; i++)
		if (r->route->flags & needs[i].flag && !(r->rights & needs[i].right))
			return fault_set(fault, ERR_NO_PERMISSION,
					 "this token has not the right \"%s\"", needs[i].name);
	return ERR_OK;
}

/* ------------------------------------------------------------------ browsers */

/* Without a port; "[::1]" keeps its brackets. */
static struct str host_of(struct str authority)
{
	size_t colon = str_rfind(authority, ':'), bracket = str_rfind(authority, ']');

	if (bracket < authority.n && colon < bracket)
		return authority;
	return str_n(authority.p, colon);
}

static bool is_address(struct str host)
{
	if (host.n && host.p[0] == '[')
		return true;
	for (size_t i = 0; i < host.n; i++)
		if (!((host.p[i] >= '0' && host.p[i] <= '9') || host.p[i] == '.'))
			return false;
	return true;
}

static bool is_localhost(struct str host)
{
	static const struct str name = STR("localhost");

	return host.n >= name.n && !strncasecmp(host.p + host.n - name.n, name.p, name.n) &&
	       (host.n == name.n || host.p[host.n - name.n - 1] == '.');
}

/*
 * Where everybody on this host may do everything, a page of a stranger must not: a name that its
 * owner lets point here ("DNS rebinding") would make the browser believe it may read what we say.
 * So the name we are asked under must be one that nobody else can own. Uploads are taken under any:
 * they tell nothing, and pages that send them are found out by their origin.
 */
static enum err check_name(const struct request *r, const struct tokens *tokens,
			   struct fault *fault)
{
	struct str host = host_of(r->x->authority);

	if (tokens || r->server->options.insecure || str_eq(r->x->peer, STR("unix")) ||
	    r->route->flags & ROUTE_WRITE || is_address(host) || is_localhost(host))
		return ERR_OK;
	return fault_set(fault, ERR_NO_PERMISSION,
			 "asked as \"%.*s\": without tokens this server answers to localhost and "
			 "addresses only",
			 (int)(host.n < 60 ? host.n : 60), host.p);
}

/* A browser lets any page send a form here; it says from where. */
static enum err check_origin(const struct request *r, struct fault *fault)
{
	struct str origin = http_find(r->x, STR("origin"));
	const char *allowed = r->server->options.cors_origin;
	size_t scheme = str_search(origin, STR("://"));

	if (!origin.n || !(r->route->flags & (ROUTE_WRITE | ROUTE_ADMIN | ROUTE_BODY)))
		return ERR_OK;
	if (allowed && (!strcmp(allowed, "*") || str_eq(origin, str_of(allowed))))
		return ERR_OK;
	if (scheme < origin.n && str_eq(str_skip(origin, scheme + 3), r->x->authority))
		return ERR_OK;
	return fault_set(fault, ERR_NO_PERMISSION,
			 "pages of %.*s may not send anything here; --cors allows one origin",
			 (int)(origin.n < 80 ? origin.n : 80), origin.p);
}

enum err access_check(struct request *r, struct fault *fault)
{
	struct tokens *tokens = atomic_load(&r->server->tokens);

	TRY(check_name(r, tokens, fault));
	TRY(check_origin(r, fault));
	TRY(identify(r, tokens, fault));
	return authorize(r, fault);
}

bool access_is_operator(const struct request *r)
{
	return !r->token_id.n ||
	       (r->rights & TOKEN_ADMIN && str_eq(r->tenant, STR(DEFAULT_TENANT)));
}
