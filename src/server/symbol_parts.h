/*
 * Symbol files that are uploaded in parts, in order, because they are too large for one request. A
 * few at a time; an incomplete upload is dropped after ten minutes. Thread safe.
 */
#pragma once

#include "symbols/symbols.h"

struct symbol_parts;

/* One part of a file. */
struct symbol_part {
	struct str tenant, id; /* id: chosen by the sender, 1 to 64 letters and digits */
	uint64_t offset;       /* of the part; 0 starts a file */
	uint64_t size;	       /* size of the whole file */
	struct str bytes;
};

enum err symbol_parts_new(uint64_t max_file, struct symbol_parts **ret) MUST_CHECK;
void symbol_parts_free(struct symbol_parts *p);
/*
 * Adds a part; with the last one the file is added to the store and `*ret_done` is true. ERR_EXISTS
 * if a part does not begin at the end of the previous one; the fault has that offset.
 */
enum err symbol_parts_add(struct symbol_parts *p, struct symbol_store *store,
			  const struct symbol_part *part, bool *ret_done, struct symbol_item *ret,
			  struct fault *fault) MUST_CHECK;
