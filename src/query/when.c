#include "query/when.h"

#include "base/clock.h"

static bool digit(char c)
{
	return c >= '0' && c <= '9';
}

static enum err bad_time(struct str text, struct fault *fault)
{
	return fault_set(fault, ERR_BAD_ARGUMENT,
			 "\"%.*s\" is no time; write -1h, now, 2026-11-15T10:00:00Z or a Unix time",
			 (int)(text.n < 80 ? text.n : 80), text.p);
}

/* RFC 3339, where everything after the date may be missing, or seconds or the offset, and T may be
 * a space; missing parts are completed. Without an offset it is UTC. */
static bool parse_date(struct str text, int64_t *ret_ns)
{
	static const char rest[] = "0000-00-00T00:00:00Z";
	char full[64];
	size_t n = text.n;

	if (n < 10 || n > 40)
		return false;
	memcpy(full, text.p, n);
	if (n > 10 && full[10] == ' ')
		full[10] = 'T';
	if (n == 10 || n == 16) { /* "2026-11-15", "2026-11-15T10:00" */
		memcpy(full + n, rest + n, sizeof(rest) - 1 - n);
		n = sizeof(rest) - 1;
	} else if (n == 17 && full[16] == 'Z') {
		memcpy(full + 16, ":00Z", 4);
		n = 20;
	} else if (!memchr("Zz", full[n - 1], 2) && !memchr(full + 10, '+', n - 10) &&
		   !memchr(full + 10, '-', n - 10)) {
		full[n++] = 'Z';
	}
	return clock_parse(str_n(full, n), ret_ns) == ERR_OK;
}

/* ".25" in nanoseconds; digits beyond nine are dropped. */
static bool parse_fraction(struct str text, int64_t *ret_ns)
{
	int64_t unit = NS_PER_S / 10;

	*ret_ns = 0;
	for (size_t i = 1; i < text.n; i++, unit /= 10) {
		if (!digit(text.p[i]))
			return false;
		*ret_ns += (text.p[i] - '0') * unit;
	}
	return text.n != 1;
}

/* The unit of a bare number follows from its length, as for Pyroscope's clients; with a fraction it
 * is seconds. */
static bool parse_number(struct str text, int64_t *ret_ns)
{
	struct str whole = str_n(text.p, str_find(text, '.')), rest = str_skip(text, whole.n);
	int64_t value, unit = NS_PER_S, fraction;

	if (str_to_i64(whole, &value) != ERR_OK || value < 0)
		return false;
	if (!rest.n)
		unit = whole.n == 13   ? 1000000
		       : whole.n == 16 ? 1000
		       : whole.n == 19 ? 1
				       : NS_PER_S;
	return parse_fraction(rest, &fraction) && !__builtin_mul_overflow(value, unit, ret_ns) &&
	       !__builtin_add_overflow(*ret_ns, fraction, ret_ns);
}

enum err when_parse(struct str text, int64_t now_ns, int64_t *ret_ns, struct fault *fault)
{
	struct str rest = str_trim(text);
	bool relative = str_starts(rest, STR("now"));
	int64_t ago;

	if (relative)
		rest = str_skip(rest, 3);
	relative |= rest.n && (rest.p[0] == '-' || rest.p[0] == '+');
	if (relative) {
		bool future = rest.n && rest.p[0] == '+';

		ago = 0;
		if (rest.n && (rest.p[0] != '-' && rest.p[0] != '+'))
			return bad_time(text, fault);
		if (rest.n && duration_parse(str_skip(rest, 1), &ago, NULL) != ERR_OK)
			return bad_time(text, fault);
		if (__builtin_add_overflow(now_ns, future ? ago : -ago, ret_ns))
			return bad_time(text, fault);
		return ERR_OK;
	}
	if (rest.n && (parse_date(rest, ret_ns) || parse_number(rest, ret_ns)))
		return ERR_OK;
	return bad_time(text, fault);
}
