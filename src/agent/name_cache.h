/*
 * What workers answered about addresses, for the windows to come: as small as it can be, with a
 * ceiling; when that is reached all of it is forgotten and asked again.
 */
#pragma once

#include "base/map.h"
#include "base/str.h"
#include "base/vec.h"
#include "unwind/unwind_format.h"

struct cached_name {
	u32 line, start_line;
	u16 column, inlined;
	u32 function, linkage, file; /* places in `text`; 0 = "" */
};

struct cached_place {
	u64 serial, address; /* of the module, and in it */
	u32 first, count;    /* names */
};

struct name_cache {
	VEC(struct cached_place) places;
	VEC(struct cached_name) names;
	VEC(char) text; /* NUL-terminated */
	struct map by_place, by_text;
	size_t ceiling;
	u64 forgotten; /* how often */
};

void name_cache_init(struct name_cache *c, size_t ceiling);
void name_cache_release(struct name_cache *c);
/* NULL when nothing is known; count 0 = it is known that it has no name. */
const struct cached_place *name_cache_find(const struct name_cache *c, u64 serial, u64 address);
/*
 * Adds what a worker said about `count` addresses (worker_wire.h). It is looked through first: a
 * wrong answer is ERR_CORRUPT and adds nothing.
 */
enum err name_cache_add(struct name_cache *c, u64 serial, const u64 *addresses, u32 count,
			struct str answer) MUST_CHECK;
/* These have no names. */
enum err name_cache_add_nameless(struct name_cache *c, u64 serial, const u64 *addresses,
				 u32 count) MUST_CHECK;
static inline const char *name_cache_text(const struct name_cache *c, u32 at)
{
	return at ? c->text.v + at : "";
}
size_t name_cache_bytes(const struct name_cache *c);
/* Forgets all if there is more than the ceiling allows; between two windows. */
void name_cache_tidy(struct name_cache *c);
