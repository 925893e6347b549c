#include "symbols/symbol_store.h"

bool build_id_valid(struct str text)
{
	if (text.n < 4 || text.n > BUILD_ID_TEXT_MAX || text.n % 2)
		return false;
	for (size_t i = 0; i < text.n; i++)
		if (!memchr("0123456789abcdef", text.p[i], 16))
			return false;
	return true;
}

void build_id_text(struct str id, char ret[BUILD_ID_TEXT_MAX + 1])
{
	size_t n = id.n < BUILD_ID_MAX ? id.n : BUILD_ID_MAX;

	for (size_t i = 0; i < n; i++) {
		ret[2 * i] = "0123456789abcdef"[(unsigned char)id.p[i] >> 4];
		ret[2 * i + 1] = "0123456789abcdef"[(unsigned char)id.p[i] & 15];
	}
	ret[2 * n] = 0;
}
