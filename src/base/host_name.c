#include "base/host_name.h"

#include <strings.h>
#include <unistd.h>

struct str host_without_port(struct str authority)
{
	size_t colon = str_rfind(authority, ':'), bracket = str_rfind(authority, ']');

	if (bracket < authority.n && colon < bracket)
		return authority;
	return str_n(authority.p, colon);
}

static bool all_of(struct str text, const char *letters)
{
	for (size_t i = 0; i < text.n; i++)
		if (!text.p[i] || !strchr(letters, text.p[i]))
			return false;
	return true;
}

bool host_is_address(struct str host)
{
	if (host.n > 2 && host.p[0] == '[' && host.p[host.n - 1] == ']')
		return all_of(str_n(host.p + 1, host.n - 2), "0123456789abcdefABCDEF:.");
	return all_of(host, "0123456789.");
}

/* "localhost." is the same name. */
static struct str without_dot(struct str host)
{
	return host.n && host.p[host.n - 1] == '.' ? str_n(host.p, host.n - 1) : host;
}

bool host_equal(struct str a, struct str b)
{
	a = without_dot(a);
	b = without_dot(b);
	return a.n == b.n && (!a.n || !strncasecmp(a.p, b.p, a.n));
}

bool host_is_localhost(struct str host)
{
	static const struct str name = STR("localhost");

	host = without_dot(host);
	if (host.n > name.n && host.p[host.n - name.n - 1] == '.')
		host = str_skip(host, host.n - name.n);
	return host_equal(host, name);
}

bool host_is_local_word(struct str host)
{
	host = without_dot(host);
	return host.n && str_find(host, '.') == host.n && str_find(host, ':') == host.n;
}

bool host_is_this_machine(struct str host)
{
	char name[256] = "";

	return !gethostname(name, sizeof(name) - 1) && name[0] && host_equal(host, str_of(name));
}

struct str origin_authority(struct str origin)
{
	size_t scheme = str_search(origin, STR("://"));

	return scheme < origin.n ? str_skip(origin, scheme + 3) : (struct str){0};
}
