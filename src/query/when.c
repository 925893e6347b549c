#include <limits.h>
#include <time.h>

#include "query/when.h"

#define SECOND 1000000000LL

static const struct unit {
	struct str name;
	int64_t ns;
} units[] = {
	{STR("ns"), 1},
	{STR("us"), 1000},
	{STR("µs"), 1000},
	{STR("ms"), 1000000},
	{STR("min"), 60 * SECOND},
	{STR("s"), SECOND},
	{STR("m"), 60 * SECOND},
	{STR("h"), 3600 * SECOND},
	{STR("d"), 86400 * SECOND},
	{STR("w"), 7 * 86400 * SECOND},
	{STR("y"), 365 * 86400 * SECOND},
};

static bool digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Splits off what consists of digits and dots. */
static struct str take_number(struct str *text)
{
	size_t n = 0;

	while (n < text->n && (digit(text->p[n]) || text->p[n] == '.'))
		n++;
	struct str number = str_n(text->p, n);

	*text = str_skip(*text, n);
	return number;
}

static const struct unit *take_unit(struct str *text)
{
	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++)
		if (str_starts(*text, units[i].name)) {
			*text = str_skip(*text, units[i].name.n);
			return &units[i];
		}
	return NULL;
}

static enum err bad_duration(struct str text, struct fault *fault)
{
	return fault_set(fault, ERR_BAD_ARGUMENT,
			 "\"%.*s\" is no duration; write 90s, 15m, 1h30m, 14d or 2w",
			 (int)(text.n < 80 ? text.n : 80), text.p);
}

enum err duration_parse(struct str text, int64_t *ret_ns, struct fault *fault)
{
	struct str rest = str_trim(text), number = take_number(&rest);
	double sum = 0, value;

	if (!number.n)
		return bad_duration(text, fault);
	for (;; number = take_number(&rest)) {
		if (str_to_double(number, &value) != ERR_OK)
			return bad_duration(text, fault);
		const struct unit *unit = rest.n ? take_unit(&rest) : &units[5];

		if (!unit)
			return bad_duration(text, fault);
		sum += value * (double)unit->ns;
		if (!rest.n)
			break;
	}
	if (!(sum < 9.2e18))
		return bad_duration(text, fault);
	*ret_ns = (int64_t)sum;
	return ERR_OK;
}

static enum err bad_time(struct str text, struct fault *fault)
{
	return fault_set(fault, ERR_BAD_ARGUMENT,
			 "\"%.*s\" is no time; write -1h, now, 2026-11-15T10:00:00Z or a Unix time",
			 (int)(text.n < 80 ? text.n : 80), text.p);
}

/* Exactly `digits` digits, which may not be above `max`. */
static bool take_field(struct str *text, size_t digits, int max, int *ret)
{
	int value = 0;

	if (text->n < digits)
		return false;
	for (size_t i = 0; i < digits; i++) {
		if (!digit(text->p[i]))
			return false;
		value = value * 10 + (text->p[i] - '0');
	}
	*text = str_skip(*text, digits);
	*ret = value;
	return value <= max;
}

static bool take_char(struct str *text, const char *any)
{
	if (!text->n || !strchr(any, text->p[0]))
		return false;
	*text = str_skip(*text, 1);
	return true;
}

/* ".123456789" of a second; digits beyond nanoseconds are dropped. */
static bool take_fraction(struct str *text, int64_t *ret_ns)
{
	int64_t ns = 0, unit = SECOND / 10;
	size_t n = 0;

	*ret_ns = 0;
	if (!take_char(text, ".,"))
		return true;
	for (; n < text->n && digit(text->p[n]); n++, unit /= 10)
		ns += (text->p[n] - '0') * unit;
	*text = str_skip(*text, n);
	*ret_ns = ns;
	return n > 0;
}

static bool take_offset(struct str *text, int64_t *ret_seconds)
{
	int hours, minutes = 0;
	int sign = text->n && text->p[0] == '-' ? -1 : 1;

	*ret_seconds = 0;
	if (!text->n || take_char(text, "Zz"))
		return true;
	if (!take_char(text, "+-") || !take_field(text, 2, 23, &hours))
		return false;
	(void)take_char(text, ":");
	if (text->n && !take_field(text, 2, 59, &minutes))
		return false;
	*ret_seconds = sign * (hours * 3600 + minutes * 60);
	return true;
}

/* RFC 3339, of which everything behind the date may be missing; without an offset it is UTC. */
static bool parse_date(struct str text, int64_t *ret_ns)
{
	struct tm tm = {0};
	int64_t fraction = 0, offset = 0;

	if (!take_field(&text, 4, 2262, &tm.tm_year) || !take_char(&text, "-") ||
	    !take_field(&text, 2, 12, &tm.tm_mon) || !take_char(&text, "-") ||
	    !take_field(&text, 2, 31, &tm.tm_mday) || tm.tm_mon < 1 || tm.tm_mday < 1 ||
	    tm.tm_year < 1970)
		return false;
	if (take_char(&text, "Tt ")) {
		if (!take_field(&text, 2, 23, &tm.tm_hour) || !take_char(&text, ":") ||
		    !take_field(&text, 2, 59, &tm.tm_min))
			return false;
		if (take_char(&text, ":") &&
		    (!take_field(&text, 2, 60, &tm.tm_sec) || !take_fraction(&text, &fraction)))
			return false;
		if (!take_offset(&text, &offset))
			return false;
	}
	tm.tm_year -= 1900;
	tm.tm_mon -= 1;
	int64_t seconds;

	if (text.n || __builtin_sub_overflow((int64_t)timegm(&tm), offset, &seconds) ||
	    __builtin_mul_overflow(seconds, SECOND, ret_ns))
		return false;
	return !__builtin_add_overflow(*ret_ns, fraction, ret_ns);
}

/* Which unit a bare number has is told by its length, as Pyroscope's clients send it; one with a
 * fraction is seconds. */
static bool parse_number(struct str text, int64_t *ret_ns)
{
	struct str whole = str_n(text.p, str_find(text, '.')), rest = str_skip(text, whole.n);
	int64_t value, unit = SECOND, fraction;

	if (str_to_i64(whole, &value) != ERR_OK || value < 0)
		return false;
	if (!rest.n)
		unit = whole.n == 13 ? 1000000 : whole.n == 16 ? 1000 : whole.n == 19 ? 1 : SECOND;
	return take_fraction(&rest, &fraction) && !rest.n &&
	       !__builtin_mul_overflow(value, unit, ret_ns) &&
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
