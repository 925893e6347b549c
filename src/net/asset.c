/* Answers about bytes that do not change: validators (RFC 9110, 13) and one range of bytes (14). */
#include <stdio.h>

#include "net/http.h"

/* "W/" before a tag says that it is a weak one; for If-None-Match that makes no difference. */
static bool tag_listed(struct str list, struct str tag)
{
	struct str one;

	while (str_split(&list, ',', &one)) {
		one = str_trim(one);
		if (str_starts(one, STR("W/")))
			one = str_skip(one, 2);
		if (str_eq(one, tag) || str_eq(one, STR("*")))
			return true;
	}
	return false;
}

enum range { RANGE_NONE, RANGE_PART, RANGE_OUTSIDE };

/* "bytes=10-19", "bytes=10-", "bytes=-10". Several ranges, or what is not one: send all of it. */
static enum range parse_range(struct str text, uint64_t size, uint64_t *ret_first,
			      uint64_t *ret_last)
{
	struct str first, last;
	uint64_t a = 0, b = 0;

	if (!str_starts(text, STR("bytes=")))
		return RANGE_NONE;
	text = str_skip(text, 6);
	first = str_trim(str_n(text.p, str_find(text, '-')));
	if (first.n == text.n)
		return RANGE_NONE;
	last = str_trim(str_skip(text, str_find(text, '-') + 1));
	if ((first.n && str_to_u64(first, 10, &a)) || (last.n && str_to_u64(last, 10, &b)) ||
	    (!first.n && !last.n))
		return RANGE_NONE;
	if (!first.n) {
		if (!b || !size)
			return RANGE_OUTSIDE;
		a = b < size ? size - b : 0;
		b = size - 1;
	} else if (last.n && b < a) {
		return RANGE_NONE;
	} else if (!last.n || b >= size) {
		b = size ? size - 1 : 0;
	}
	if (a >= size)
		return RANGE_OUTSIDE;
	*ret_first = a;
	*ret_last = b;
	return RANGE_PART;
}

/* Leaves only these bytes of what is to be sent. */
static void cut_body(struct http_response *r, uint64_t first, uint64_t last)
{
	size_t n = (size_t)(last - first + 1);

	if (r->static_body.p) {
		r->static_body = str_n(r->static_body.p + first, n);
		return;
	}
	memmove(r->body.data, r->body.data + first, n);
	r->body.n = n;
}

void http_reply_asset(struct http_exchange *x, struct http_response *r, struct str tag)
{
	struct http_header headers[HTTP_ASSET_HEADERS + 3];
	struct str range = http_find(x, STR("range")), only_if = http_find(x, STR("if-range"));
	uint64_t first = 0, last = 0, size = r->static_body.p ? r->static_body.n : r->body.n;
	size_t n = r->header_count < HTTP_ASSET_HEADERS ? r->header_count : HTTP_ASSET_HEADERS;
	enum range kind = RANGE_NONE;
	char place[80];

	if (n)
		memcpy(headers, r->headers, n * sizeof(headers[0]));
	headers[n++] = (struct http_header){STR("accept-ranges"), STR("bytes")};
	if (tag.n)
		headers[n++] = (struct http_header){STR("etag"), tag};
	r->headers = headers;
	if (tag.n && tag_listed(http_find(x, STR("if-none-match")), tag)) {
		r->status = 304;
	} else if (range.n && (!only_if.n || str_eq(only_if, tag)) &&
		   (str_eq(x->method, STR("GET")))) {
		kind = parse_range(range, size, &first, &last);
	}
	if (kind != RANGE_NONE) {
		struct str text = str_n(place, 0);

		r->status = kind == RANGE_PART ? 206 : 416;
		if (kind == RANGE_PART)
			text.n = (size_t)snprintf(place, sizeof(place), "bytes %llu-%llu/%llu",
						  (unsigned long long)first,
						  (unsigned long long)last,
						  (unsigned long long)size);
		else
			text.n = (size_t)snprintf(place, sizeof(place), "bytes */%llu",
						  (unsigned long long)size);
		headers[n++] = (struct http_header){STR("content-range"), text};
		if (kind == RANGE_PART) {
			cut_body(r, first, last);
		} else {
			buf_release(&r->body);
			r->static_body = STR("the range is outside of the file\n");
		}
	}
	r->header_count = n;
	http_reply(x, r);
}
