/* Shared by symbol_store.c and symbol_store_take.c, which validates new files.
 */
#pragma once

#include "base/thread.h"
#include "base/vec.h"
#include "symbols/symbols.h"

struct shelved {
	struct symbol_item item;
	uint64_t used; /* last use, as a counter of uses */
};

struct symbol_store {
	struct mutex lock; /* of all that follows */
	struct symbol_store_options options;
	char *folder;
	VEC(struct shelved) items; /* in order of build ids, programs first */
	uint64_t bytes, uses, changes;
	uint64_t begun; /* counter for file names */
};

#define SHELF_PATH_MAX 4096

/* All require the lock. */
enum err symbol_store_path(const struct symbol_store *s, const char *build_id, bool debug,
			   char path[SHELF_PATH_MAX]) MUST_CHECK;
/* Its index in items, or where to insert it. */
size_t symbol_store_find(const struct symbol_store *s, const char *build_id, bool debug,
			 bool *ret_there);
void symbol_store_drop(struct symbol_store *s, size_t at);
/* Drops cached results of an older file with that build id. */
void symbol_store_forget_answers(const struct symbol_store *s, const char *build_id);
