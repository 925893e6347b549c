/*
 * A compact cache of symbols by address range, kept across windows. When it reaches its ceiling it
 * is emptied. An entry holds for a range of addresses, so that frequently sampled code is cached
 * soon.
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
	u64 serial;	  /* of the module */
	u64 start, end;	  /* in it; no two of a module overlap, but for one that holds all */
	u32 first, count; /* names */
};

struct name_cache {
	VEC(struct cached_place) places;
	size_t settled; /* the first `settled` are sorted and can be found */
	VEC(struct cached_name) names;
	VEC(char) text; /* NUL-terminated */
	struct map by_text;
	size_t ceiling;
	u64 forgotten; /* number of times it was emptied */
};

void name_cache_init(struct name_cache *c, size_t ceiling);
void name_cache_release(struct name_cache *c);
/* NULL = not cached; count 0 = known to have no symbol. */
const struct cached_place *name_cache_find(const struct name_cache *c, u64 serial, u64 address);
/*
 * Adds a worker's answer for `count` sorted addresses (worker_wire.h). Validates it first: an
 * invalid one is ERR_CORRUPT and adds nothing. Can be found after name_cache_settle.
 */
enum err name_cache_add(struct name_cache *c, u64 serial, const u64 *addresses, u32 count,
			struct str answer) MUST_CHECK;
/* Marks all other addresses of a module as without symbols. */
enum err name_cache_add_nameless(struct name_cache *c, u64 serial) MUST_CHECK;
/* Makes added entries available to name_cache_find. */
enum err name_cache_settle(struct name_cache *c) MUST_CHECK;
/* Drops the entries of a module, for which better symbols are available. Call after
 * name_cache_settle. */
void name_cache_forget(struct name_cache *c, u64 serial);
/* The same for all JIT-compiled code, whose serials have the highest bit, because it changes. */
void name_cache_forget_code(struct name_cache *c);
static inline const char *name_cache_text(const struct name_cache *c, u32 at)
{
	return at ? c->text.v + at : "";
}
size_t name_cache_bytes(const struct name_cache *c);
/* Empties the cache if it is above its ceiling; call between windows. */
void name_cache_tidy(struct name_cache *c);
