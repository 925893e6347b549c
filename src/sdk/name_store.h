/*
 * A cache of symbols by place, kept across profiles, so that symbol files need not stay open. It is
 * emptied when it reaches its ceiling. Background thread only.
 */
#pragma once

#include "base/map.h"
#include "base/vec.h"
#include "model/model.h"
#include "symbols/symbols.h"
#include "unwind/unwind_format.h"

/* A symbolized frame; strings are offsets into `texts`, 0 = "". */
struct kept_name {
	u32 function, linkage, file;
	u32 line, column, start_line;
	bool inlined;
};

struct kept_place {
	u64 place;
	u32 first, count; /* in names */
};

struct name_store {
	VEC(char) texts; /* NUL-terminated; the first is empty */
	VEC(struct kept_name) names;
	VEC(struct kept_place) places;
	struct map text_index, place_index;
};

void name_store_release(struct name_store *s);
/* Empties it if it is too large. */
void name_store_tidy(struct name_store *s);
const struct kept_place *name_store_find(const struct name_store *s, u64 place);
/* Adds `n` frames; 0 = the place is known to have no symbol. */
enum err name_store_add(struct name_store *s, u64 place, const struct symbol_frame *frames,
			size_t n) MUST_CHECK;
/* The i-th frame of a place; its strings are valid until the next addition. */
struct code_name name_store_frame(const struct name_store *s, const struct kept_place *p, u32 i);
