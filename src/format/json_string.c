/*
 * The JSON cursor's strings.
 */
#include "base/base64.h"
#include "format/json_internal.h"

#define ONES  0x0101010101010101u
#define HIGHS 0x8080808080808080u

/* Non-zero when one of the eight bytes is zero; exact in the lowest such byte. */
static inline uint64_t zero_bytes(uint64_t w)
{
	return (w - ONES) & ~w & HIGHS;
}

/*
 * The first quote, backslash or control character at or after p. `*high` gets a bit set in 0x80
 * of some byte when there were bytes that are not ASCII on the way.
 */
static const char *string_stop(const char *p, const char *end, uint64_t *high)
{
	while (end - p >= 8) {
		uint64_t w, stop;

		memcpy(&w, p, 8);
		stop = zero_bytes(w ^ (ONES * '"')) | zero_bytes(w ^ (ONES * '\\')) |
		       ((w - ONES * 0x20) & ~w & HIGHS);
		if (stop)
			break;
		*high |= w & HIGHS;
		p += 8;
	}
	while (p < end && *p != '"' && *p != '\\' && (unsigned char)*p >= 0x20)
		*high |= (unsigned char)*p++ & 0x80;
	return p;
}

/* Fails for what string_stop found when it is neither the quote nor an escape. */
static void string_broken(struct json *j, const char *at, const char *opening)
{
	if (at == j->end)
		json_fail_at(j, (size_t)(opening - j->start), ERR_TRUNCATED,
			     "the data ends inside the string that begins here");
	else
		json_fail_at(j, (size_t)(at - j->start), ERR_CORRUPT,
			     "the control character 0x%02x is not allowed in a string",
			     (unsigned char)*at);
}

void json_skip_string(struct json *j)
{
	const char *opening = j->p, *p = j->p + 1;
	uint64_t high = 0;

	for (;;) {
		p = string_stop(p, j->end, &high);
		if (p < j->end && *p == '"') {
			j->p = p + 1;
			return;
		}
		if (p + 1 >= j->end || *p != '\\') {
			string_broken(j, p < j->end && *p == '\\' ? j->end : p, opening);
			return;
		}
		p += 2;
	}
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* The four digits after \u, or -1. */
static int32_t hex4(const char *p, const char *end)
{
	int32_t value = 0;

	if (end - p < 4)
		return -1;
	for (int i = 0; i < 4; i++) {
		int digit = hex_digit(p[i]);

		if (digit < 0)
			return -1;
		value = value << 4 | digit;
	}
	return value;
}

static void put_code_point(struct buf *b, uint32_t c)
{
	char text[4];
	size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;

	if (n == 1) {
		text[0] = (char)c;
	} else {
		for (size_t i = n - 1; i; i--, c >>= 6)
			text[i] = (char)(0x80 | (c & 0x3f));
		text[0] = (char)((0xf00 >> n & 0xf0) | c);
	}
	buf_append(b, text, n);
}

/* A \u escape at p (behind the u), with its low half when it is a surrogate pair. */
static const char *unicode_escape(struct json *j, const char *p)
{
	int32_t unit = hex4(p, j->end), low;

	if (unit < 0) {
		json_fail_at(j, (size_t)(p - 2 - j->start), ERR_CORRUPT,
			     "\\u must be followed by four hexadecimal digits");
		return j->end;
	}
	p += 4;
	if (unit >= 0xd800 && unit < 0xdc00 && j->end - p >= 2 && p[0] == '\\' && p[1] == 'u') {
		low = hex4(p + 2, j->end);
		if (low >= 0xdc00 && low < 0xe000) {
			put_code_point(&j->scratch,
				       0x10000u + (((uint32_t)unit & 0x3ff) << 10 | (low & 0x3ff)));
			return p + 6;
		}
	}
	if (unit >= 0xd800 && unit < 0xe000) {
		j->replaced++;
		unit = 0xfffd;
	}
	put_code_point(&j->scratch, (uint32_t)unit);
	return p;
}

/* An escape at p (behind the backslash). */
static const char *escape(struct json *j, const char *p)
{
	static const char plain[128] = {
		['"'] = '"',  ['\\'] = '\\', ['/'] = '/',  ['b'] = '\b',
		['f'] = '\f', ['n'] = '\n',  ['r'] = '\r', ['t'] = '\t',
	};

	if (p < j->end && *p == 'u')
		return unicode_escape(j, p + 1);
	if (p == j->end || (unsigned char)*p >= 128 || !plain[(unsigned char)*p]) {
		json_fail_at(j, (size_t)(p - 1 - j->start), ERR_CORRUPT,
			     "a backslash must be followed by one of \" \\ / b f n r t u");
		return j->end;
	}
	buf_byte(&j->scratch, (unsigned char)plain[(unsigned char)*p]);
	return p + 1;
}

static void append_utf8(struct json *j, struct str s)
{
	if (utf8_valid(s)) {
		buf_str(&j->scratch, s);
		return;
	}
	while (s.n) {
		size_t n = utf8_length(s);

		if (n) {
			buf_append(&j->scratch, s.p, n);
		} else {
			buf_text(&j->scratch, "\xef\xbf\xbd");
			j->replaced++;
			n = 1;
		}
		s = str_skip(s, n);
	}
}

/* The string with something to replace, into the scratch buffer; j->p is its opening quote. */
static bool decode_string(struct json *j, struct str *ret)
{
	const char *opening = j->p, *p = j->p + 1;
	uint64_t high = 0;

	buf_clear(&j->scratch);
	while (!j->error) {
		const char *stop = string_stop(p, j->end, &high);

		append_utf8(j, str_n(p, (size_t)(stop - p)));
		p = stop;
		if (p == j->end || (*p != '"' && *p != '\\'))
			string_broken(j, p, opening);
		else if (*p == '\\')
			p = escape(j, p + 1);
		else
			break;
	}
	if (j->error)
		return false;
	if (buf_error(&j->scratch)) {
		json_fail(j, buf_error(&j->scratch), "the string cannot be kept: %s",
			  err_text(buf_error(&j->scratch)));
		return false;
	}
	j->p = p + 1;
	*ret = buf_view(&j->scratch);
	return true;
}

bool json_string(struct json *j, struct str *ret)
{
	const char *stop, *opening;
	struct str plain;
	uint64_t high = 0;

	json_space(j);
	if (j->p == j->end || *j->p != '"') {
		if (json_null(j))
			return true;
		json_wrong(j, "a string");
		return false;
	}
	opening = j->p;
	stop = string_stop(opening + 1, j->end, &high);
	plain = str_n(opening + 1, (size_t)(stop - opening - 1));
	if (plain.n <= j->max_string && stop < j->end && *stop == '"' &&
	    (!high || utf8_valid(plain))) {
		j->p = stop + 1;
		*ret = plain;
		return true;
	}
	json_skip_string(j);
	if (j->error)
		return false;
	if ((size_t)(j->p - opening) - 2 > j->max_string) {
		json_fail_at(j, (size_t)(opening - j->start), ERR_TOO_LARGE,
			     "the string is longer than %u bytes", j->max_string);
		return false;
	}
	j->p = opening;
	return decode_string(j, ret);
}

bool json_string_keep(struct json *j, struct arena *arena, struct str *ret)
{
	struct str s = {NULL, 0};
	char *copy;

	if (!json_string(j, &s))
		return false;
	if (!s.p)
		return true;
	if (s.p == j->scratch.data) {
		copy = arena_copy(arena, s);
		if (!copy) {
			json_fail(j, ERR_NO_MEMORY, "out of memory");
			return false;
		}
		s.p = copy;
	}
	*ret = s;
	return true;
}

bool json_bool(struct json *j, bool *ret)
{
	size_t left;

	json_space(j);
	left = (size_t)(j->end - j->p);
	if (left >= 4 && memcmp(j->p, "true", 4) == 0) {
		*ret = true;
		j->p += 4;
	} else if (left >= 5 && memcmp(j->p, "false", 5) == 0) {
		*ret = false;
		j->p += 5;
	} else if (!json_null(j)) {
		json_wrong(j, "true or false");
		return false;
	}
	return true;
}

/* The text at the cursor, however long: payloads are files of their own. */
static bool long_string(struct json *j, size_t max_bytes, struct str *ret)
{
	uint32_t max = j->max_string;
	size_t ceiling = j->scratch.ceiling;
	bool ok;

	j->max_string = UINT32_MAX;
	j->scratch.ceiling = max_bytes;
	ok = json_string(j, ret);
	j->max_string = max;
	j->scratch.ceiling = ceiling;
	return ok;
}

bool json_base64(struct json *j, struct arena *arena, size_t max_bytes, struct str *ret)
{
	size_t offset = json_offset(j), n = 0;
	struct str text = {NULL, 0};
	uint8_t *bytes;

	if (!long_string(j, max_bytes, &text))
		return false;
	bytes = arena_alloc(arena, text.n / 4 * 3 + 3);
	if (!bytes)
		json_fail(j, ERR_NO_MEMORY, "%s", err_text(ERR_NO_MEMORY));
	else if (!base64_decode(text, bytes, &n))
		json_fail_at(j, offset, ERR_CORRUPT, "expected base64");
	else
		*ret = str_n(bytes, n);
	return !j->error;
}
