#include "net/http1_parse.h"

#define METHOD_MAX 32

static enum http1_progress refuse(struct http1_refusal *r, int status, const char *why)
{
	*r = (struct http1_refusal){status, why};
	return HTTP1_REFUSED;
}

static bool is_token_char(unsigned char c)
{
	static const uint64_t bits[2] = {
		/* ! # $ % & ' * + - . 0-9 */
		0x03ff6cfa00000000u,
		/* A-Z ^ _ ` a-z | ~ */
		0x57ffffffc7fffffeu,
	};

	return c < 128 && (bits[c >> 6] >> (c & 63) & 1);
}

bool http1_is_token(struct str text)
{
	for (size_t i = 0; i < text.n; i++)
		if (!is_token_char((unsigned char)text.p[i]))
			return false;
	return text.n > 0;
}

static bool is_value_char(unsigned char c)
{
	return (c >= 0x20 && c != 0x7f) || c == '\t';
}

bool http1_is_value(struct str text)
{
	for (size_t i = 0; i < text.n; i++)
		if (!is_value_char((unsigned char)text.p[i]))
			return false;
	return true;
}

enum http1_progress http1_find_end(struct str bytes, size_t *scanned, struct http1_refusal *refusal)
{
	size_t at = *scanned;
	const char *found;

	while (at < bytes.n && (found = memchr(bytes.p + at, '\n', bytes.n - at))) {
		size_t line = (size_t)(found - bytes.p);

		if (line == 0 || bytes.p[line - 1] != '\r')
			return refuse(refusal, 400, "a line ends without a carriage return");
		*scanned = at = line + 1;
		if (line >= 3 && bytes.p[line - 2] == '\n')
			return HTTP1_DONE;
	}
	*scanned = bytes.n;
	return HTTP1_MORE;
}

/* Text without case, as header values such as "chunked" are compared; `lower` is lower case. */
static bool is_word(struct str text, struct str lower)
{
	if (text.n != lower.n)
		return false;
	for (size_t i = 0; i < text.n; i++) {
		char c = text.p[i];

		if (c >= 'A' && c <= 'Z')
			c |= 0x20;
		if (c != lower.p[i])
			return false;
	}
	return true;
}

static struct str trim_blanks(struct str s)
{
	while (s.n && (s.p[0] == ' ' || s.p[0] == '\t'))
		s = str_skip(s, 1);
	while (s.n && (s.p[s.n - 1] == ' ' || s.p[s.n - 1] == '\t'))
		s.n--;
	return s;
}

/* host, host:port, [::1]:port; nothing that would be a path, a user or another authority. */
static bool is_authority(struct str text)
{
	for (size_t i = 0; i < text.n; i++) {
		unsigned char c = (unsigned char)text.p[i];

		if (c <= ' ' || c >= 0x7f || memchr("/\\?#@,<>\"{}|^`", c, 14))
			return false;
	}
	return text.n <= 512;
}

static bool is_target(struct str text)
{
	for (size_t i = 0; i < text.n; i++) {
		unsigned char c = (unsigned char)text.p[i];

		if (c <= ' ' || c == 0x7f || c == '#')
			return false;
	}
	return text.n > 0;
}

static enum http1_progress parse_target(struct str target, struct http1_head *h,
					struct http1_refusal *refusal)
{
	size_t at;

	if (!is_target(target))
		return refuse(refusal, 400, "the target of the request is not valid");
	if (target.p[0] != '/' &&
	    !(str_eq(target, STR("*")) && str_eq(h->method, STR("OPTIONS")))) {
		/* The absolute form, which proxies are sent; its authority is the one that counts.
		 */
		at = str_search(target, STR("://"));
		if (at == target.n || !(is_word(str_n(target.p, at), STR("http")) ||
					is_word(str_n(target.p, at), STR("https"))))
			return refuse(refusal, 400,
				      "the target of the request is neither a path nor a URL");
		target = str_skip(target, at + 3);
		for (at = 0; at < target.n && target.p[at] != '/' && target.p[at] != '?';)
			at++;
		h->authority = str_n(target.p, at);
		if (!h->authority.n || !is_authority(h->authority))
			return refuse(refusal, 400, "the host of the request is not valid");
		target = str_skip(target, at);
	}
	at = str_find(target, '?');
	h->path = at ? str_n(target.p, at) : STR("/");
	h->query = str_skip(target, at + 1);
	return HTTP1_DONE;
}

static enum http1_progress parse_request_line(struct str line, struct http1_head *h,
					      struct http1_refusal *refusal)
{
	size_t first = str_find(line, ' '), last = str_rfind(line, ' ');
	struct str version = str_skip(line, last + 1);

	if (first == line.n || first == last)
		return refuse(refusal, 400, "the request line has not three words");
	h->method = str_n(line.p, first);
	if (!http1_is_token(h->method) || h->method.n > METHOD_MAX)
		return refuse(refusal, 400, "the method is not valid");
	if (version.n != 8 || !str_starts(version, STR("HTTP/")) || version.p[6] != '.' ||
	    version.p[5] < '0' || version.p[5] > '9' || version.p[7] < '0' || version.p[7] > '9')
		return refuse(refusal, 400, "the version of the request is not valid");
	if (version.p[5] != '1')
		return refuse(refusal, 505, "only HTTP/1.0, HTTP/1.1 and HTTP/2 are spoken here");
	h->version = version.p[7] == '0' ? HTTP_1_0 : HTTP_1_1;
	h->keep_alive = h->version == HTTP_1_1;
	if (str_eq(h->method, STR("CONNECT")))
		return refuse(refusal, 501, "this is not a proxy");
	return parse_target(str_n(line.p + first + 1, last - first - 1), h, refusal);
}

static enum http1_progress parse_header(char *line, size_t n, struct http1_head *h,
					struct http1_refusal *refusal)
{
	struct str text = str_n(line, n), name = str_n(line, str_find(text, ':'));
	struct str value = trim_blanks(str_skip(text, name.n + 1));

	if (line[0] == ' ' || line[0] == '\t')
		return refuse(refusal, 400, "a header continues on the next line");
	if (name.n == n || !http1_is_token(name))
		return refuse(refusal, 400, "the name of a header is not valid");
	if (!http1_is_value(value))
		return refuse(refusal, 400, "the value of a header contains a control character");
	if (h->header_count == HTTP1_MAX_HEADERS)
		return refuse(refusal, 431, "there are too many headers");
	for (size_t i = 0; i < name.n; i++)
		if (line[i] >= 'A' && line[i] <= 'Z')
			line[i] |= 0x20;
	h->headers[h->header_count++] = (struct http_header){name, value};
	return HTTP1_DONE;
}

static enum http1_progress take_length(struct http1_head *h, struct str value,
				       struct http1_refusal *refusal)
{
	if (h->has_length)
		return refuse(refusal, 400, "the length of the body is said twice");
	for (size_t i = 0; i < value.n; i++)
		if (value.p[i] < '0' || value.p[i] > '9')
			return refuse(refusal, 400, "the length of the body is not a number");
	if (str_to_u64(value, 10, &h->length) || h->length > INT64_MAX)
		return refuse(refusal, 400, "the length of the body is not a number");
	h->has_length = true;
	return HTTP1_DONE;
}

static enum http1_progress take_coding(struct http1_head *h, struct str value,
				       struct http1_refusal *refusal)
{
	if (h->version == HTTP_1_0)
		return refuse(refusal, 400, "HTTP/1.0 has no Transfer-Encoding");
	if (h->chunked)
		return refuse(refusal, 400, "duplicate Transfer-Encoding");
	if (!is_word(value, STR("chunked")))
		return refuse(refusal, 501, "the only Transfer-Encoding known here is chunked");
	h->chunked = true;
	return HTTP1_DONE;
}

static void take_connection(struct http1_head *h, struct str value)
{
	struct str option;

	while (str_split(&value, ',', &option)) {
		option = trim_blanks(option);
		if (is_word(option, STR("close")))
			h->keep_alive = false;
		else if (is_word(option, STR("keep-alive")) && h->version == HTTP_1_0)
			h->keep_alive = true;
	}
}

static enum http1_progress take_host(struct http1_head *h, struct str value, bool *seen,
				     struct http1_refusal *refusal)
{
	if (*seen)
		return refuse(refusal, 400, "there is more than one Host");
	if (!is_authority(value))
		return refuse(refusal, 400, "the host of the request is not valid");
	*seen = true;
	if (!h->authority.n)
		h->authority = value;
	return HTTP1_DONE;
}

/* Parses the headers for body length and connection handling. */
static enum http1_progress understand(struct http1_head *h, struct http1_refusal *refusal)
{
	bool host = false;

	for (size_t i = 0; i < h->header_count; i++) {
		struct str name = h->headers[i].name, value = h->headers[i].value;
		enum http1_progress p = HTTP1_DONE;

		if (str_eq(name, STR("content-length"))) {
			p = take_length(h, value, refusal);
		} else if (str_eq(name, STR("transfer-encoding"))) {
			p = take_coding(h, value, refusal);
		} else if (str_eq(name, STR("host"))) {
			p = take_host(h, value, &host, refusal);
		} else if (str_eq(name, STR("connection"))) {
			take_connection(h, value);
		} else if (str_eq(name, STR("expect"))) {
			if (!is_word(value, STR("100-continue")))
				return refuse(refusal, 417,
					      "the only expectation known here is 100-continue");
			h->expects_continue = h->version == HTTP_1_1;
		}
		if (p != HTTP1_DONE)
			return p;
	}
	if (!host && h->version == HTTP_1_1)
		return refuse(refusal, 400, "Host is missing");
	if (h->chunked && h->has_length)
		return refuse(refusal, 400, "both Content-Length and Transfer-Encoding");
	return HTTP1_DONE;
}

size_t http1_count_headers(struct str bytes)
{
	size_t lines = 0;
	const char *at = bytes.p, *end = bytes.p + bytes.n;

	/* The first line and the empty one are no headers. */
	while (at < end && (at = memchr(at, '\n', (size_t)(end - at)))) {
		lines++;
		at++;
	}
	lines = lines > 2 ? lines - 2 : 0;
	return lines < HTTP1_MAX_HEADERS ? lines : HTTP1_MAX_HEADERS;
}

enum http1_progress http1_parse_head(char *bytes, size_t n, struct http_header *headers,
				     struct http1_head *ret, struct http1_refusal *refusal)
{
	bool first = true;

	*ret = (struct http1_head){.headers = headers};
	while (n) {
		char *end = memchr(bytes, '\n', n);
		size_t all = end ? (size_t)(end - bytes) + 1 : 0;
		enum http1_progress p;

		if (all < 2)
			return refuse(refusal, 400, "the head of the request is not complete");
		if (all > 2) {
			p = first ? parse_request_line(str_n(bytes, all - 2), ret, refusal)
				  : parse_header(bytes, all - 2, ret, refusal);
			if (p != HTTP1_DONE)
				return p;
			first = false;
		}
		bytes += all;
		n -= all;
	}
	if (first)
		return refuse(refusal, 400, "the head of the request is empty");
	return understand(ret, refusal);
}
