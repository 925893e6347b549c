/* What the parts of a shelf share: symbol_shelf.c keeps, symbol_shelf_take.c looks at what comes.
 */
#pragma once

#include "base/thread.h"
#include "base/vec.h"
#include "symbols/symbols.h"

struct shelved {
	struct shelf_item item;
	uint64_t used; /* when, counted in uses */
};

struct symbol_shelf {
	struct mutex lock; /* of all that follows */
	struct shelf_options options;
	char *folder;
	VEC(struct shelved) items; /* in order of build ids, programs first */
	uint64_t bytes, uses, changes;
	uint64_t begun; /* files, for their names */
};

#define SHELF_PATH_MAX 4096

/* All with the lock held. */
enum err shelf_path(const struct symbol_shelf *s, const char *build_id, bool debug,
		    char path[SHELF_PATH_MAX]) MUST_CHECK;
/* Its place in items, or where it would be. */
size_t shelf_find(const struct symbol_shelf *s, const char *build_id, bool debug, bool *ret_there);
void shelf_drop(struct symbol_shelf *s, size_t at);
/* What was answered from an older file of that build id. */
void shelf_forget_answers(const struct symbol_shelf *s, const char *build_id);
