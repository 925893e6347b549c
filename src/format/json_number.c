/*
 * The JSON cursor's numbers. Whole numbers stay exact to 64 bits; only what is written with a
 * fraction, an exponent or more digits becomes a double.
 */
#include <math.h>

#include "format/json_internal.h"

static inline bool is_digit(const char *p, const char *end)
{
	return p < end && *p >= '0' && *p <= '9';
}

/* A number while it is read: value = mantissa * 10^exponent unless `rounded`. */
struct decimal {
	uint64_t mantissa;
	int32_t exponent;
	bool rounded; /* more digits than 64 bits hold */
	bool real;    /* written with a fraction or an exponent */
};

static const char *take_digits(const char *p, const char *end, struct decimal *d)
{
	for (; is_digit(p, end); p++) {
		uint64_t digit = (uint64_t)(*p - '0');

		if (d->mantissa > (UINT64_MAX - digit) / 10)
			d->rounded = true;
		else
			d->mantissa = d->mantissa * 10 + digit;
	}
	return p;
}

/* Fraction and exponent; NULL when a digit is missing. */
static const char *take_rest(const char *p, const char *end, struct decimal *d)
{
	int32_t exponent = 0;
	bool negative;

	d->real = true;
	if (*p == '.') {
		const char *from = ++p;

		if (!is_digit(p, end))
			return NULL;
		p = take_digits(p, end, d);
		d->exponent = (int32_t)(from - p < -100000 ? -100000 : from - p);
	}
	if (p < end && (*p == 'e' || *p == 'E')) {
		p++;
		negative = p < end && *p == '-';
		if (p < end && (*p == '-' || *p == '+'))
			p++;
		if (!is_digit(p, end))
			return NULL;
		for (; is_digit(p, end); p++)
			exponent = exponent < 100000 ? exponent * 10 + (*p - '0') : exponent;
		d->exponent += negative ? -exponent : exponent;
	}
	return p;
}

/* Exact when digits and power of ten both fit a double: one rounding, in the last operation. */
static bool quick_double(const struct decimal *d, double *ret)
{
	static const double powers[] = {1e0,  1e1,  1e2,  1e3,	1e4,  1e5,  1e6,  1e7,
					1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
					1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

	if (d->rounded || d->mantissa > 1ull << 53 || d->exponent < -22 || d->exponent > 22)
		return false;
	*ret = d->exponent < 0 ? (double)d->mantissa / powers[-d->exponent]
			       : (double)d->mantissa * powers[d->exponent];
	return true;
}

static bool real_number(struct json *j, struct str text, const struct decimal *d, bool negative,
			struct json_number *ret)
{
	ret->kind = JSON_REAL;
	if (quick_double(d, &ret->d)) {
		ret->d = negative ? -ret->d : ret->d;
	} else if (text.n > 120) {
		json_fail(j, ERR_CORRUPT, "a number of %zu characters is too long", text.n);
		return false;
	} else if (str_to_double(text, &ret->d) != ERR_OK) {
		ret->d = INFINITY;
	}
	if (isfinite(ret->d))
		return true;
	json_fail(j, ERR_CORRUPT, "the number %.*s is too large", (int)text.n, text.p);
	return false;
}

/* For numbers that are not a plain run of at most 18 digits. */
static bool slow_number(struct json *j, struct json_number *ret)
{
	const char *from = j->p, *p = from, *digits;
	bool negative = p < j->end && *p == '-';
	struct decimal d = {0};

	p += negative;
	if (!is_digit(p, j->end)) {
		if (!negative || (p < j->end && *p == 'I'))
			json_wrong(j, "a number");
		else
			json_fail(j, p == j->end ? ERR_TRUNCATED : ERR_CORRUPT,
				  "a digit must follow the minus sign");
		return false;
	}
	digits = p;
	p = take_digits(p, j->end, &d);
	if (*digits == '0' && p - digits > 1) {
		json_fail(j, ERR_CORRUPT, "a number must not begin with a zero");
		return false;
	}
	if (p < j->end && (*p == '.' || *p == 'e' || *p == 'E'))
		p = take_rest(p, j->end, &d);
	if (!p) {
		json_fail(j, ERR_CORRUPT, "a digit is missing in the number");
		return false;
	}
	if (d.real || d.rounded || (negative && d.mantissa > (uint64_t)INT64_MAX + 1)) {
		if (!real_number(j, str_n(from, (size_t)(p - from)), &d, negative, ret))
			return false;
	} else if (!negative && d.mantissa > INT64_MAX) {
		*ret = (struct json_number){.kind = JSON_U64, .u = d.mantissa};
	} else {
		ret->kind = JSON_I64;
		ret->i = (int64_t)(negative ? 0 - d.mantissa : d.mantissa);
	}
	j->p = p;
	return true;
}

bool json_number(struct json *j, struct json_number *ret)
{
	const char *p, *end;
	int64_t value;

	json_space(j);
	p = j->p;
	end = j->end - p > 18 ? p + 18 : j->end;
	/* Nearly every number of a profile: a few digits and then a comma or a bracket. */
	if (p < end && *p >= '1' && *p <= '9') {
		value = *p++ - '0';
		while (p < end && *p >= '0' && *p <= '9')
			value = value * 10 + (*p++ - '0');
		if (p < end && (*p == ',' || *p == ']' || *p == '}')) {
			ret->kind = JSON_I64;
			ret->i = value;
			j->p = p;
			return true;
		}
	}
	return slow_number(j, ret);
}

/* A number for the typed readers below; false on failure and, with *ret_null, at a null. */
static bool typed_number(struct json *j, struct json_number *ret, bool *ret_null)
{
	json_space(j);
	*ret_null = j->p < j->end && *j->p == 'n' && json_null(j);
	return !*ret_null && json_number(j, ret);
}

/* Whether a double is a whole number in [low, high). */
static bool whole(double d, double low, double high)
{
	return d >= low && d < high && floor(d) == d;
}

static bool not_whole(struct json *j, size_t at, const char *range)
{
	json_fail_at(j, at, ERR_CORRUPT, "expected a whole number %s", range);
	return false;
}

bool json_i64(struct json *j, int64_t *ret)
{
	struct json_number n;
	const char *from = j->p;
	bool is_null;

	if (!typed_number(j, &n, &is_null))
		return is_null;
	if (n.kind == JSON_REAL && whole(n.d, -0x1p63, 0x1p63))
		*ret = (int64_t)n.d;
	else if (n.kind == JSON_I64)
		*ret = n.i;
	else
		return not_whole(j, (size_t)(from - j->start), "of at most 63 bits");
	return true;
}

bool json_u64(struct json *j, uint64_t *ret)
{
	struct json_number n;
	const char *from = j->p;
	bool is_null;

	if (!typed_number(j, &n, &is_null))
		return is_null;
	if (n.kind == JSON_REAL && whole(n.d, 0, 0x1p64))
		*ret = (uint64_t)n.d;
	else if (n.kind == JSON_U64)
		*ret = n.u;
	else if (n.kind == JSON_I64 && n.i >= 0)
		*ret = (uint64_t)n.i;
	else
		return not_whole(j, (size_t)(from - j->start), "from 0 to 2^64 - 1");
	return true;
}

bool json_u32(struct json *j, uint32_t *ret)
{
	const char *from = j->p;
	uint64_t value = *ret;

	if (!json_u64(j, &value))
		return false;
	if (value > UINT32_MAX)
		return not_whole(j, (size_t)(from - j->start), "from 0 to 2^32 - 1");
	*ret = (uint32_t)value;
	return true;
}

bool json_double(struct json *j, double *ret)
{
	struct json_number n;
	bool is_null;

	if (!typed_number(j, &n, &is_null))
		return is_null;
	*ret = json_number_double(&n);
	return true;
}
