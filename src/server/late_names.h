/*
 * Late symbolization: frames that were stored as addresses are symbolized by queries, from files
 * that arrived later (symbol_sources.h): functions, files, lines, and inlined functions as separate
 * frames. Addresses and modules are kept; tables and trees group frames by function, as usual.
 */
#pragma once

#include "server/symbol_sources.h"
#include "store/store.h"

/* The symbolized frames, for store queries by function name. All zero is empty. */
struct late_names {
	struct arena arena;	       /* holds the strings */
	VEC(struct late_frame) frames; /* sorted by build id and offset */
};

void late_names_release(struct late_names *l);
/*
 * Symbolizes the rows of a profile. Free for a tenant without symbol files, and cheap if all frames
 * have symbols. Symbols that take too long, or must be fetched first, appear in a later query.
 */
enum err late_names_apply(struct symbol_sources *sources, struct str tenant, struct profile *p,
			  const atomic_bool *cancelled, struct late_names *ret) MUST_CHECK;
