#include "pipeline/ingest_words.h"

#include "base/clock.h"

static bool is_letter_or_digit(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

static bool is_name(struct str s, const char *others)
{
	for (size_t i = 0; i < s.n; i++)
		if (!is_letter_or_digit(s.p[i]) && (!s.p[i] || !strchr(others, s.p[i])))
			return false;
	return s.n != 0;
}

static int shown(struct str s)
{
	return (int)(s.n < 100 ? s.n : 100);
}

static enum err put_label(struct ingest_name *name, struct str key, struct str value,
			  struct fault *fault)
{
	if (!is_name(key, "_."))
		return fault_set(fault, ERR_BAD_ARGUMENT,
				 "name: the label \"%.*s\" is not made of letters, digits, _ and .",
				 shown(key), key.p);
	for (size_t i = 0; i < name->n; i++)
		if (str_eq(name->v[i].name, key)) {
			name->v[i].value = value;
			return ERR_OK;
		}
	if (name->n == SERIES_LABELS_MAX)
		return fault_set(fault, ERR_BAD_ARGUMENT, "name: more than %d labels",
				 SERIES_LABELS_MAX);
	name->v[name->n++] = (struct label_pair){key, value};
	return ERR_OK;
}

static size_t find_end(struct str s)
{
	size_t comma = str_find(s, ','), brace = str_find(s, '}');

	return comma < brace ? comma : brace;
}

enum err ingest_name_parse(struct str text, struct ingest_name *ret, struct fault *fault)
{
	size_t brace = str_find(text, '{');
	struct str rest = str_skip(text, brace + 1);

	ret->n = 0;
	ret->service = str_trim(str_n(text.p, brace));
	if (!ret->service.n)
		return fault_set(fault, ERR_BAD_ARGUMENT, "name: a service name is required");
	if (!is_name(ret->service, "_.-/"))
		return fault_set(fault, ERR_BAD_ARGUMENT,
				 "name: the service \"%.*s\" is not made of letters, digits, _ . - "
				 "and /",
				 shown(ret->service), ret->service.p);
	while (rest.n && rest.p[0] != '}') {
		size_t end, equals = str_find(rest, '=');
		struct str key = str_trim(str_n(rest.p, equals)), value;

		/* A last word without a value says nothing. */
		if (equals == rest.n || str_find(key, '}') < key.n)
			break;
		rest = str_skip(rest, equals + 1);
		end = find_end(rest);
		value = str_trim(str_n(rest.p, end));
		rest = str_skip(rest, end + 1);
		TRY(put_label(ret, key, value, fault));
	}
	return ERR_OK;
}

static bool all_digits(struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (s.p[i] < '0' || s.p[i] > '9')
			return false;
	return s.n != 0;
}

static int64_t times(int64_t value, int64_t factor)
{
	int64_t product;

	return __builtin_mul_overflow(value, factor, &product) ? INT64_MAX : product;
}

/* The day as RFC 3339 understands it, so that the 31st of February is none. */
static bool parse_day(struct str digits, int64_t *ret)
{
	char text[] = "YYYY-MM-DDT00:00:00Z";

	if (digits.n != 8)
		return false;
	memcpy(text, digits.p, 4);
	memcpy(text + 5, digits.p + 4, 2);
	memcpy(text + 8, digits.p + 6, 2);
	return digits.p[0] != '0' && memcmp(digits.p, "1900", 4) > 0 &&
	       clock_parse(str_of(text), ret) == ERR_OK;
}

static int64_t parse_number(struct str digits, int64_t now_ns)
{
	int64_t value;

	if (parse_day(digits, &value))
		return value;
	if (str_to_i64(digits, &value) != ERR_OK)
		return now_ns;
	switch (digits.n) {
	case 13:
		return times(value, NS_PER_MS);
	case 16:
		return times(value, NS_PER_US);
	case 19:
		return value;
	default:
		return times(value, NS_PER_S);
	}
}

static int64_t unit_seconds(struct str unit)
{
	static const struct {
		const char *begin;
		int64_t seconds;
	} units[] = {
		{"s", 1},    {"mon", 30 * 86400}, {"M", 30 * 86400}, {"m", 60},
		{"h", 3600}, {"d", 86400},	  {"w", 7 * 86400},  {"y", 365 * 86400},
	};

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (str_starts(unit, str_of(units[i].begin)))
			return units[i].seconds;
	return 0;
}

/* "1h30m" in nanoseconds. */
static int64_t parse_offset(struct str s)
{
	int64_t sum = 0, number, part;
	size_t n;

	while (s.n) {
		struct str digits;

		for (n = 0; n < s.n && s.p[n] >= '0' && s.p[n] <= '9'; n++)
			;
		digits = str_n(s.p, n);
		s = str_skip(s, n);
		for (n = 0; n < s.n && (s.p[n] < '0' || s.p[n] > '9'); n++)
			;
		if (str_to_i64(digits, &number) != ERR_OK)
			number = 0;
		part = times(times(number, unit_seconds(str_n(s.p, n))), NS_PER_S);
		if (__builtin_add_overflow(sum, part, &sum))
			return INT64_MAX;
		s = str_skip(s, n);
	}
	return sum;
}

int64_t ingest_time_parse(struct str text, int64_t now_ns)
{
	char clean[64];
	struct str s = {clean, 0};
	int64_t offset, sum;
	size_t sign;

	for (size_t i = 0; i < text.n && s.n < sizeof(clean); i++)
		if (!strchr("_, \t\r\n", text.p[i]) && text.p[i])
			clean[s.n++] = text.p[i];
	if (all_digits(s))
		return parse_number(s, now_ns);
	sign = str_find(s, '+');
	if (sign == s.n)
		sign = str_find(s, '-');
	if (sign == s.n)
		return now_ns;
	offset = parse_offset(str_skip(s, sign + 1));
	if (s.p[sign] == '-' ? __builtin_sub_overflow(now_ns, offset, &sum)
			     : __builtin_add_overflow(now_ns, offset, &sum))
		return now_ns;
	return sum;
}
