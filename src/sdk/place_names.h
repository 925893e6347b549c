/*
 * Symbolizes places (tally.h) from the files of modules. Symbols are cached (name_store.h); files
 * are closed at the end of each profile, because their decompressed data takes many megabytes.
 * Background thread only.
 */
#pragma once

#include "base/map.h"
#include "base/vec.h"
#include "model/model.h"
#include "sdk/loaded.h"
#include "sdk/name_store.h"
#include "symbols/symbols.h"

struct named_place {
	u64 place;
	u32 at, n; /* frames, in pool */
};

struct place_names {
	const struct loaded *loaded;
	VEC(struct symbol_file *) files; /* by module number */
	VEC(bool) tried;		 /* for this profile */
	struct name_store kept;
	VEC(uint32_t) mappings; /* in the dictionary; 0 = not yet */
	VEC(struct named_place) places;
	VEC(uint32_t) pool; /* frames */
	struct map index;
	struct dict *dict; /* of this profile */
};

void place_names_init(struct place_names *p, const struct loaded *loaded);
void place_names_release(struct place_names *p);
/* Begins a profile over another dictionary. */
void place_names_begin(struct place_names *p, struct dict *d);
/* Closes the files. */
void place_names_end(struct place_names *p);
/* The variable at a place, or "file+0x10"; false outside of modules. */
bool place_variable(struct place_names *p, u64 place, char *ret, size_t size);
/* The dictionary's frames of a place, innermost first; at most `max`. */
enum err place_frames(struct place_names *p, u64 place, uint32_t *frames, size_t max,
		      size_t *ret_n) MUST_CHECK;
