#include "base/jsonout.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/decimal.h"

#define NUMBERS_AT_ONCE 64

static void newline(struct jsonout *o)
{
	static const char spaces[] = "                                ";
	uint32_t left = o->depth * 2;

	buf_byte(o->b, '\n');
	while (left) {
		uint32_t n = left < sizeof(spaces) - 1 ? left : (uint32_t)sizeof(spaces) - 1;

		buf_append(o->b, spaces, n);
		left -= n;
	}
}

/* What stands between the last thing written and the next value or key. */
static void separate(struct jsonout *o)
{
	bool lines = o->pretty && !o->flat;

	if (o->after_key) {
		o->after_key = false;
		return;
	}
	if (o->comma)
		buf_byte(o->b, ',');
	if (o->comma && o->pretty && o->flat)
		buf_byte(o->b, ' ');
	if (lines && o->depth)
		newline(o);
}

static void begin(struct jsonout *o, char bracket)
{
	separate(o);
	buf_byte(o->b, (unsigned char)bracket);
	o->depth++;
	o->comma = false;
}

static void end(struct jsonout *o, char bracket)
{
	o->depth--;
	if (o->pretty && o->comma && !o->flat)
		newline(o);
	if (o->flat > o->depth)
		o->flat = 0;
	buf_byte(o->b, (unsigned char)bracket);
	o->comma = true;
}

void jsonout_object(struct jsonout *o)
{
	begin(o, '{');
}

void jsonout_end_object(struct jsonout *o)
{
	end(o, '}');
}

void jsonout_array(struct jsonout *o)
{
	begin(o, '[');
}

void jsonout_end_array(struct jsonout *o)
{
	end(o, ']');
}

void jsonout_flat_array(struct jsonout *o)
{
	begin(o, '[');
	if (!o->flat)
		o->flat = o->depth;
}

void jsonout_key(struct jsonout *o, struct str key)
{
	separate(o);
	o->replaced += json_quote(o->b, key);
	buf_text(o->b, o->pretty ? ": " : ":");
	o->comma = true;
	o->after_key = true;
}

static void quote_escaped(struct buf *b, unsigned char c)
{
	static const char short_form[] = {
		['\b'] = 'b', ['\t'] = 't', ['\n'] = 'n', ['\f'] = 'f', ['\r'] = 'r',
	};
	static const char hex[] = "0123456789abcdef";
	char text[6] = {'\\', 'u', '0', '0', hex[c >> 4], hex[c & 15]};

	if (c == '"' || c == '\\')
		text[1] = (char)c;
	else if (c < sizeof(short_form) && short_form[c])
		text[1] = short_form[c];
	buf_append(b, text, text[1] == 'u' ? 6 : 2);
}

uint64_t json_quote(struct buf *b, struct str s)
{
	uint64_t replaced = 0;
	size_t plain = 0; /* start of the bytes that need no escaping */

	buf_byte(b, '"');
	for (size_t i = 0; i < s.n;) {
		unsigned char c = (unsigned char)s.p[i];
		size_t n = c < 0x80 ? 1 : utf8_length(str_skip(s, i));

		if (n && c >= 0x20 && c != '"' && c != '\\' && c != 0x7f) {
			i += n;
			continue;
		}
		buf_append(b, s.p + plain, i - plain);
		if (n) {
			quote_escaped(b, c);
		} else {
			buf_text(b, "\xef\xbf\xbd");
			replaced++;
		}
		plain = ++i;
	}
	if (s.n > plain)
		buf_append(b, s.p + plain, s.n - plain);
	buf_byte(b, '"');
	return replaced;
}

void jsonout_str(struct jsonout *o, struct str value)
{
	separate(o);
	o->replaced += json_quote(o->b, value);
	o->comma = true;
}

void jsonout_text(struct jsonout *o, const char *value)
{
	if (value)
		jsonout_str(o, str_of(value));
	else
		jsonout_null(o);
}

void jsonout_i64(struct jsonout *o, int64_t value)
{
	separate(o);
	buf_i64(o->b, value);
	o->comma = true;
}

void jsonout_i64s(struct jsonout *o, const int64_t *values, size_t n)
{
	char text[NUMBERS_AT_ONCE * (DECIMAL_SIZE + 1)];

	if (o->pretty) {
		for (size_t i = 0; i < n; i++)
			jsonout_i64(o, values[i]);
		return;
	}
	while (n) {
		size_t count = n < NUMBERS_AT_ONCE ? n : NUMBERS_AT_ONCE;
		char *at = text;

		for (size_t i = 0; i < count; i++) {
			at = decimal_i64(at, values[i]);
			*at++ = ',';
		}
		separate(o);
		buf_append(o->b, text, (size_t)(at - text) - 1);
		o->comma = true;
		values += count;
		n -= count;
	}
}

void jsonout_u64(struct jsonout *o, uint64_t value)
{
	separate(o);
	buf_u64(o->b, value);
	o->comma = true;
}

void jsonout_i64_text(struct jsonout *o, int64_t value)
{
	separate(o);
	buf_byte(o->b, '"');
	buf_i64(o->b, value);
	buf_byte(o->b, '"');
	o->comma = true;
}

void jsonout_u64_text(struct jsonout *o, uint64_t value)
{
	separate(o);
	buf_byte(o->b, '"');
	buf_u64(o->b, value);
	buf_byte(o->b, '"');
	o->comma = true;
}

void jsonout_double(struct jsonout *o, double value)
{
	char text[40];

	if (!isfinite(value)) {
		jsonout_null(o);
		return;
	}
	/* Whole numbers of up to 15 digits read the same either way. */
	if (fabs(value) < 1e15 && value == trunc(value) && !(value == 0 && signbit(value))) {
		jsonout_i64(o, (int64_t)value);
		return;
	}
	/* 17 digits always read back to the same double; try fewer first, which usually suffice. */
	for (int digits = 15; digits <= 17; digits++) {
		snprintf(text, sizeof(text), "%.*g", digits, value);
		if (strtod(text, NULL) == value)
			break;
	}
	jsonout_raw(o, str_of(text));
}

void jsonout_bool(struct jsonout *o, bool value)
{
	jsonout_raw(o, value ? STR("true") : STR("false"));
}

void jsonout_null(struct jsonout *o)
{
	jsonout_raw(o, STR("null"));
}

void jsonout_raw(struct jsonout *o, struct str json)
{
	separate(o);
	buf_str(o->b, json);
	o->comma = true;
}

void jsonout_put_str(struct jsonout *o, const char *key, struct str value)
{
	jsonout_key(o, str_of(key));
	jsonout_str(o, value);
}

void jsonout_put_text(struct jsonout *o, const char *key, const char *value)
{
	jsonout_key(o, str_of(key));
	jsonout_text(o, value);
}

void jsonout_put_i64(struct jsonout *o, const char *key, int64_t value)
{
	jsonout_key(o, str_of(key));
	jsonout_i64(o, value);
}

void jsonout_put_u64(struct jsonout *o, const char *key, uint64_t value)
{
	jsonout_key(o, str_of(key));
	jsonout_u64(o, value);
}

void jsonout_put_double(struct jsonout *o, const char *key, double value)
{
	jsonout_key(o, str_of(key));
	jsonout_double(o, value);
}

void jsonout_put_bool(struct jsonout *o, const char *key, bool value)
{
	jsonout_key(o, str_of(key));
	jsonout_bool(o, value);
}

void jsonout_put_object(struct jsonout *o, const char *key)
{
	jsonout_key(o, str_of(key));
	jsonout_object(o);
}

void jsonout_put_array(struct jsonout *o, const char *key)
{
	jsonout_key(o, str_of(key));
	jsonout_array(o);
}
