/* What a worker says about eight addresses: all of it is kept, or nothing. */
#include <stdlib.h>

#include "agent/name_cache.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define ADDRESSES 8u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	u64 addresses[ADDRESSES];
	struct name_cache c;
	enum err e;

	name_cache_init(&c, 1 << 20);
	for (u32 i = 0; i < ADDRESSES; i++)
		addresses[i] = 16 * (i + 1);
	e = name_cache_add(&c, 1, addresses, ADDRESSES, str_n(data, size));
	if (name_cache_settle(&c) != ERR_OK)
		abort();
	for (u32 i = 0; i < ADDRESSES; i++) {
		const struct cached_place *p = name_cache_find(&c, 1, addresses[i]);

		if (!p != (e != ERR_OK))
			abort();
		for (u32 k = 0; p && k < p->count; k++) {
			const struct cached_name *n = &c.names.v[p->first + k];

			if (strlen(name_cache_text(&c, n->function)) > UINT16_MAX ||
			    strlen(name_cache_text(&c, n->linkage)) > UINT16_MAX ||
			    strlen(name_cache_text(&c, n->file)) > UINT16_MAX)
				abort();
		}
	}
	name_cache_release(&c);
	return 0;
}
