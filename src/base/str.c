#include "base/str.h"

#include <math.h>
#include <stdlib.h>

int str_cmp(struct str a, struct str b)
{
	size_t shared = a.n < b.n ? a.n : b.n;
	int order = shared ? memcmp(a.p, b.p, shared) : 0;

	if (order)
		return order;
	return a.n < b.n ? -1 : a.n > b.n;
}

bool str_starts(struct str s, struct str prefix)
{
	return s.n >= prefix.n && (prefix.n == 0 || memcmp(s.p, prefix.p, prefix.n) == 0);
}

bool str_ends(struct str s, struct str suffix)
{
	return s.n >= suffix.n &&
	       (suffix.n == 0 || memcmp(s.p + s.n - suffix.n, suffix.p, suffix.n) == 0);
}

size_t str_find(struct str s, char c)
{
	const char *hit = s.n ? memchr(s.p, c, s.n) : NULL;

	return hit ? (size_t)(hit - s.p) : s.n;
}

size_t str_rfind(struct str s, char c)
{
	const char *hit = s.n ? memrchr(s.p, c, s.n) : NULL;

	return hit ? (size_t)(hit - s.p) : s.n;
}

size_t str_search(struct str s, struct str needle)
{
	const char *hit;

	if (!s.n || !needle.n)
		return 0;
	hit = memmem(s.p, s.n, needle.p, needle.n);
	return hit ? (size_t)(hit - s.p) : s.n;
}

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\v' || c == '\f';
}

struct str str_trim(struct str s)
{
	while (s.n && is_space(s.p[0]))
		s = str_skip(s, 1);
	while (s.n && is_space(s.p[s.n - 1]))
		s.n--;
	return s;
}

struct str str_skip(struct str s, size_t n)
{
	if (n > s.n)
		n = s.n;
	/* Not even 0 may be added to a NULL pointer. */
	return n ? (struct str){s.p + n, s.n - n} : s;
}

bool str_split(struct str *rest, char c, struct str *ret_part)
{
	size_t at;

	if (!rest->n)
		return false;
	at = str_find(*rest, c);
	*ret_part = (struct str){rest->p, at};
	*rest = str_skip(*rest, at + 1);
	return true;
}

enum err str_to_u64(struct str s, int base, uint64_t *ret)
{
	uint64_t value = 0;

	if (!s.n)
		return ERR_CORRUPT;
	for (size_t i = 0; i < s.n; i++) {
		char c = s.p[i];
		int digit = c >= '0' && c <= '9'   ? c - '0'
			    : c >= 'a' && c <= 'z' ? c - 'a' + 10
			    : c >= 'A' && c <= 'Z' ? c - 'A' + 10
						   : 99;

		if (digit >= base || __builtin_mul_overflow(value, (uint64_t)base, &value) ||
		    __builtin_add_overflow(value, (uint64_t)digit, &value))
			return ERR_CORRUPT;
	}
	*ret = value;
	return ERR_OK;
}

enum err str_to_i64(struct str s, int64_t *ret)
{
	bool negative = s.n && s.p[0] == '-';
	uint64_t magnitude;

	TRY(str_to_u64(str_skip(s, negative || (s.n && s.p[0] == '+')), 10, &magnitude));
	if (magnitude > (uint64_t)INT64_MAX + negative)
		return ERR_CORRUPT;
	*ret = negative ? (int64_t)(0 - magnitude) : (int64_t)magnitude;
	return ERR_OK;
}

enum err str_to_double(struct str s, double *ret)
{
	char text[128], *end;
	double value;

	if (!s.n || s.n >= sizeof(text))
		return ERR_CORRUPT;
	memcpy(text, s.p, s.n);
	text[s.n] = '\0';
	/* strtod also knows spaces, hexadecimal, "inf" and "nan"; a file's number has none of them.
	 */
	if (strspn(text, "0123456789+-.eE") != s.n)
		return ERR_CORRUPT;
	value = strtod(text, &end);
	/* Too small becomes 0, which is near enough; too large has no value that is. */
	if (end != text + s.n || isinf(value))
		return ERR_CORRUPT;
	*ret = value;
	return ERR_OK;
}

size_t str_distance(struct str a, struct str b, size_t limit)
{
	size_t row[65];

	if (a.n > 64 || b.n > 64)
		return limit + 1;
	for (size_t j = 0; j <= b.n; j++)
		row[j] = j;
	for (size_t i = 1; i <= a.n; i++) {
		size_t diagonal = row[0];

		row[0] = i;
		for (size_t j = 1; j <= b.n; j++) {
			size_t above = row[j];
			size_t best = diagonal + (a.p[i - 1] != b.p[j - 1]);

			if (above + 1 < best)
				best = above + 1;
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			row[j] = best;
			diagonal = above;
		}
	}
	return row[b.n] <= limit ? row[b.n] : limit + 1;
}

size_t utf8_length(struct str s)
{
	const unsigned char *p = (const unsigned char *)s.p;
	size_t need;
	unsigned low = 0x80, high = 0xbf;

	if (!s.n)
		return 0;
	if (p[0] < 0x80)
		return 1;
	if (p[0] < 0xc2 || p[0] > 0xf4)
		return 0;
	need = p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
	if (p[0] == 0xe0)
		low = 0xa0;
	else if (p[0] == 0xed)
		high = 0x9f;
	else if (p[0] == 0xf0)
		low = 0x90;
	else if (p[0] == 0xf4)
		high = 0x8f;
	if (s.n < need || p[1] < low || p[1] > high)
		return 0;
	for (size_t i = 2; i < need; i++)
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	return need;
}

/* Nearly all names are ASCII: eight bytes at a time, the last eight perhaps twice. */
static bool is_ascii(struct str s)
{
	uint64_t bits = 0, word = 0;
	size_t i = 0;

	for (; i + 8 <= s.n; i += 8) {
		memcpy(&word, s.p + i, 8);
		bits |= word;
	}
	if (s.n >= 8) {
		memcpy(&word, s.p + s.n - 8, 8);
		bits |= word;
		i = s.n;
	}
	for (; i < s.n; i++)
		bits |= (unsigned char)s.p[i];
	return !(bits & 0x8080808080808080u);
}

bool utf8_valid(struct str s)
{
	if (is_ascii(s))
		return true;
	while (s.n) {
		size_t n = utf8_length(s);

		if (!n)
			return false;
		s = str_skip(s, n);
		while (s.n >= 8 && is_ascii((struct str){s.p, 8}))
			s = str_skip(s, 8);
	}
	return true;
}
