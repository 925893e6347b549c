#include "sdk/http_request.h"

#define HEADERS_MAX 64

static bool same_word(struct str a, struct str b)
{
	if (a.n != b.n)
		return false;
	for (size_t i = 0; i < a.n; i++) {
		char x = a.p[i], y = b.p[i];

		x = x >= 'A' && x <= 'Z' ? (char)(x + 32) : x;
		if (x != y)
			return false;
	}
	return true;
}

/* "GET /path?query HTTP/1.1" */
static bool read_line(struct str line, struct http_request *r)
{
	struct str target, version;
	size_t at;

	if (!str_split(&line, ' ', &r->method) || !str_split(&line, ' ', &target))
		return false;
	version = line;
	if (!str_starts(version, STR("HTTP/1.")) || version.n != 8 || !r->method.n || !target.n ||
	    target.p[0] != '/')
		return false;
	for (size_t i = 0; i < target.n; i++)
		if ((unsigned char)target.p[i] <= ' ' || (unsigned char)target.p[i] >= 0x7f)
			return false;
	at = str_find(target, '?');
	r->path = str_n(target.p, at);
	r->query = str_skip(target, at + 1 < target.n ? at + 1 : target.n);
	return true;
}

/* False for what is wrong, or would need more of HTTP than there is. */
static bool read_header(struct str line, struct http_request *r, uint64_t *length)
{
	size_t at = str_find(line, ':');
	struct str name = str_n(line.p, at), value;

	if (at == line.n || !at || line.p[at - 1] == ' ' || line.p[0] == ' ' || line.p[0] == '\t')
		return false;
	value = str_trim(str_skip(line, at + 1));
	if (same_word(name, STR("host"))) {
		if (r->host.n)
			return false;
		r->host = value;
	} else if (same_word(name, STR("origin"))) {
		r->origin = value;
	} else if (same_word(name, STR("sec-fetch-site"))) {
		r->from_elsewhere =
			str_eq(value, STR("cross-site")) || str_eq(value, STR("same-site"));
	} else if (same_word(name, STR("content-length"))) {
		return !*length && str_to_u64(value, 10, length) == ERR_OK;
	} else if (same_word(name, STR("transfer-encoding"))) {
		return false;
	}
	return true;
}

/* Up to the next line's end; false when there is none. */
static bool take_line(struct str *rest, struct str *ret)
{
	size_t at = str_search(*rest, STR("\r\n"));

	if (at == rest->n)
		return false;
	*ret = str_n(rest->p, at);
	*rest = str_skip(*rest, at + 2);
	return true;
}

enum http_progress http_request_read(struct str bytes, size_t room, struct http_request *ret)
{
	size_t end = str_search(bytes, STR("\r\n\r\n"));
	struct http_request r = {0};
	struct str rest, line;
	uint64_t length = 0;
	int lines = 0;

	if (end == bytes.n)
		return bytes.n >= room ? HTTP_TOO_LONG : HTTP_MORE;
	rest = str_n(bytes.p, end + 2);
	if (!take_line(&rest, &line) || !read_line(line, &r))
		return HTTP_WRONG;
	while (take_line(&rest, &line))
		if (++lines > HEADERS_MAX || !read_header(line, &r, &length))
			return HTTP_WRONG;
	if (length > room || end + 4 + length > room)
		return HTTP_TOO_LONG;
	if (bytes.n < end + 4 + length)
		return HTTP_MORE;
	r.body = str_n(bytes.p + end + 4, length);
	*ret = r;
	return HTTP_COMPLETE;
}

struct str http_parameter(struct str query, struct str name)
{
	struct str one;

	while (str_split(&query, '&', &one)) {
		size_t at = str_find(one, '=');

		if (str_eq(str_n(one.p, at), name))
			return str_skip(one, at < one.n ? at + 1 : one.n);
	}
	return (struct str){0};
}
