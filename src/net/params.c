/* Query strings and forms: name=value&name=value, percent-encoded. */
#include "net/http.h"

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool encoded(struct str text)
{
	return str_find(text, '%') < text.n || str_find(text, '+') < text.n;
}

/*
 * '+' is a space; a '%' without two hex digits after it is literal, as in browsers. If there is
 * nothing to decode, returns the text itself. False: out of memory.
 */
static bool decode(struct arena *a, struct str text, struct str *ret)
{
	char *out;
	size_t n = 0;

	*ret = text.n ? text : STR("");
	if (!encoded(text))
		return true;
	out = arena_alloc(a, text.n);
	if (!out)
		return false;
	for (size_t i = 0; i < text.n; i++) {
		int high = -1, low = -1;

		if (text.p[i] == '%' && i + 2 < text.n) {
			high = hex_digit(text.p[i + 1]);
			low = hex_digit(text.p[i + 2]);
		}
		if (high >= 0 && low >= 0) {
			out[n++] = (char)(high << 4 | low);
			i += 2;
		} else {
			out[n++] = text.p[i] == '+' ? ' ' : text.p[i];
		}
	}
	*ret = str_n(out, n);
	return true;
}

enum err http_params(struct http_exchange *x, struct str query,
		     enum err (*each)(void *context, struct str name, struct str value),
		     void *context)
{
	struct str pair;

	while (str_split(&query, '&', &pair)) {
		size_t equals = str_find(pair, '=');
		struct str name, value;

		if (!pair.n)
			continue;
		if (!decode(&x->arena, str_n(pair.p, equals), &name) ||
		    !decode(&x->arena, str_skip(pair, equals + 1), &value))
			return ERR_NO_MEMORY;
		TRY(each(context, name, value));
	}
	return ERR_OK;
}

struct str http_param(struct http_exchange *x, struct str name)
{
	struct str query = x->query, pair, value, decoded;

	while (str_split(&query, '&', &pair)) {
		size_t equals = str_find(pair, '=');
		struct str key = str_n(pair.p, equals);

		if (!pair.n)
			continue;
		/* Names are plain nearly always; only others cost memory. */
		if (!str_eq(key, name) &&
		    (!encoded(key) || !decode(&x->arena, key, &decoded) || !str_eq(decoded, name)))
			continue;
		if (decode(&x->arena, str_skip(pair, equals + 1), &value))
			return value;
	}
	return (struct str){NULL, 0};
}
