/*
 * What workers answered about addresses, for the windows to come: as small as it can be, with a
 * ceiling; when that is reached all of it is forgotten and asked again. An answer holds for a range
 * of addresses, so that what runs all the time is soon known and nobody has to be asked.
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
	size_t settled; /* of them: in order, and found */
	VEC(struct cached_name) names;
	VEC(char) text; /* NUL-terminated */
	struct map by_text;
	size_t ceiling;
	u64 forgotten; /* how often */
};

void name_cache_init(struct name_cache *c, size_t ceiling);
void name_cache_release(struct name_cache *c);
/* NULL when nothing is known; count 0 = it is known that it has no name. */
const struct cached_place *name_cache_find(const struct name_cache *c, u64 serial, u64 address);
/*
 * Adds what a worker said about `count` addresses, which are in order (worker_wire.h). It is looked
 * through first: a wrong answer is ERR_CORRUPT and adds nothing. Found after name_cache_settle.
 */
enum err name_cache_add(struct name_cache *c, u64 serial, const u64 *addresses, u32 count,
			struct str answer) MUST_CHECK;
/* A module that has no names but those that are known. */
enum err name_cache_add_nameless(struct name_cache *c, u64 serial) MUST_CHECK;
/* What was added is found from here on. */
enum err name_cache_settle(struct name_cache *c) MUST_CHECK;
/* What is known of a module: it can be known better by now. After name_cache_settle. */
void name_cache_forget(struct name_cache *c, u64 serial);
/* The same of all code made at run time, whose serials have the highest bit: it is another one
 * soon.
 */
void name_cache_forget_code(struct name_cache *c);
static inline const char *name_cache_text(const struct name_cache *c, u32 at)
{
	return at ? c->text.v + at : "";
}
size_t name_cache_bytes(const struct name_cache *c);
/* Forgets all if there is more than the ceiling allows; between two windows. */
void name_cache_tidy(struct name_cache *c);
