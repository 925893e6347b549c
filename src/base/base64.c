#include "base/base64.h"

void base64_put(struct buf *out, struct str bytes, bool padded)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const unsigned char *p = (const unsigned char *)bytes.p;
	char *at = buf_reserve(out, (bytes.n + 2) / 3 * 4);
	size_t i;

	if (!at)
		return;
	for (i = 0; i + 2 < bytes.n; i += 3) {
		uint32_t v = (uint32_t)p[i] << 16 | (uint32_t)p[i + 1] << 8 | p[i + 2];

		*at++ = digits[v >> 18];
		*at++ = digits[v >> 12 & 63];
		*at++ = digits[v >> 6 & 63];
		*at++ = digits[v & 63];
	}
	if (i < bytes.n) {
		bool two = i + 1 < bytes.n;
		uint32_t v = (uint32_t)p[i] << 16 | (two ? (uint32_t)p[i + 1] << 8 : 0);

		*at++ = digits[v >> 18];
		*at++ = digits[v >> 12 & 63];
		if (two)
			*at++ = digits[v >> 6 & 63];
		else if (padded)
			*at++ = '=';
		if (padded)
			*at++ = '=';
	}
	*at = '\0';
	out->n = (size_t)(at - out->data);
}

static int digit_of(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	if (c == '+' || c == '-')
		return 62;
	return c == '/' || c == '_' ? 63 : -1;
}

bool base64_decode(struct str text, uint8_t *out, size_t *ret_n)
{
	uint32_t bits = 0, have = 0;
	size_t n = 0;

	for (int i = 0; i < 2 && text.n && text.p[text.n - 1] == '='; i++)
		text.n--;
	if (text.n % 4 == 1)
		return false;
	for (size_t i = 0; i < text.n; i++) {
		int digit = digit_of(text.p[i]);

		if (digit < 0)
			return false;
		bits = bits << 6 | (uint32_t)digit;
		have += 6;
		if (have >= 8) {
			have -= 8;
			out[n++] = (uint8_t)(bits >> have);
		}
	}
	*ret_n = n;
	return true;
}
