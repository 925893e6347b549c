#include "server/access.h"

#include <strings.h>

#include "base/host_name.h"
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

	r->rights = TOKEN_READ | TOKEN_WRITE | TOKEN_ADMIN | TOKEN_OPERATOR;
	if (!tokens_required(tokens))
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
		     {ROUTE_ADMIN, TOKEN_ADMIN, "admin"},
		     {ROUTE_NUMBERS, TOKEN_READ | TOKEN_OPERATOR, "read"}};

	for (size_t i = 0; i < sizeof(needs) / sizeof(needs[0]); i++)
		if (r->route->flags & needs[i].flag && !(r->rights & needs[i].right))
			return fault_set(fault, ERR_NO_PERMISSION,
					 "this token does not have the right \"%s\"",
					 needs[i].name);
	return ERR_OK;
}

/* ------------------------------------------------------------------ browsers */

static bool is_listed(const struct server_options *o, struct str host)
{
	for (size_t i = 0; i < o->allowed_host_count; i++)
		if (host_equal(host, str_of(o->allowed_hosts[i])) ||
		    !strcmp(o->allowed_hosts[i], "*"))
			return true;
	return false;
}

/*
 * With tokens a page that came by a name of its own has none to show, so that any name will do;
 * unless the operator names those that count.
 */
static bool is_known_name(const struct server *s, struct str authority)
{
	const struct server_options *o = &s->options;
	struct str host = host_without_port(authority);

	return host_is_address(host) || host_is_localhost(host) || is_listed(o, host) ||
	       host_is_this_machine(host) || (o->insecure && host_is_local_word(host)) ||
	       (tokens_required(s->tokens) && !o->allowed_host_count);
}

static enum err check_name(const struct request *r, struct str authority, struct fault *fault)
{
	struct str host = host_without_port(authority);

	if (r->x->peer_is_local || is_known_name(r->server, authority))
		return ERR_OK;
	return fault_set(fault, ERR_NO_PERMISSION,
			 "Host \"%.*s\": this server accepts only localhost and addresses; "
			 "--allowed-host %.*s adds this name",
			 (int)(host.n < 60 ? host.n : 60), host.p, (int)(host.n < 60 ? host.n : 60),
			 host.p);
}

static bool is_allowed_origin(const struct request *r, struct str origin)
{
	const char *allowed = r->server->options.cors_origin;

	return allowed && (!strcmp(allowed, "*") || host_equal(origin, str_of(allowed)));
}

/* Same origin: this server, under the requested name or another one of its names. */
static bool is_own_origin(const struct request *r, struct str origin)
{
	struct str authority = origin_authority(origin);

	return authority.n && (host_equal(authority, r->x->authority) ||
			       is_listed(&r->server->options, host_without_port(authority)));
}

/* The user followed a link: the response is displayed, not passed to the linking page. */
static bool is_navigation(const struct request *r)
{
	return (str_eq(r->x->method, STR("GET")) || str_eq(r->x->method, STR("HEAD"))) &&
	       str_eq(http_find(r->x, STR("sec-fetch-mode")), STR("navigate")) &&
	       str_eq(http_find(r->x, STR("sec-fetch-dest")), STR("document"));
}

/* Any page may make a browser send something here; the browser says which page it was. */
static enum err check_origin(const struct request *r, struct fault *fault)
{
	struct str origin = http_find(r->x, STR("origin"));
	struct str site = http_find(r->x, STR("sec-fetch-site"));

	if (is_allowed_origin(r, origin) && origin.n)
		return ERR_OK;
	if (origin.n && !is_own_origin(r, origin))
		return fault_set(
			fault, ERR_NO_PERMISSION,
			"requests of pages from %.*s are refused; --cors allows one origin",
			(int)(origin.n < 80 ? origin.n : 80), origin.p);
	if (!site.n || str_eq(site, STR("same-origin")) || str_eq(site, STR("none")) ||
	    is_navigation(r))
		return ERR_OK;
	return fault_set(
		fault, ERR_NO_PERMISSION,
		"request of a page of another origin (Sec-Fetch-Site: %.*s); --cors allows one",
		(int)(site.n < 20 ? site.n : 20), site.p);
}

enum err access_check_sender(const struct request *r, struct fault *fault)
{
	struct str host = http_find(r->x, STR("host"));

	TRY(check_name(r, r->x->authority, fault));
	/* Both may be there; a proxy before us may look at the other one. */
	if (host.n)
		TRY(check_name(r, host, fault));
	return check_origin(r, fault);
}

enum err access_check(struct request *r, struct fault *fault)
{
	TRY(identify(r, r->server->tokens, fault));
	return authorize(r, fault);
}

bool access_is_operator(const struct request *r)
{
	/* Without tokens there is no id, and everybody has all rights. */
	return r->rights & TOKEN_ADMIN &&
	       (!r->token_id.n || str_eq(r->tenant, STR(DEFAULT_TENANT)));
}

bool access_sees_server(const struct request *r)
{
	return access_is_operator(r) || r->rights & TOKEN_OPERATOR;
}
