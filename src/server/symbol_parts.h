/*
 * Symbol files on their way: too large for one request, they come in parts, in order. A few at a
 * time; who stops sending is forgotten after ten minutes. Any thread may add.
 */
#pragma once

#include "symbols/symbols.h"

struct symbol_parts;

/* One part of a file. */
struct symbol_part {
	struct str tenant, id; /* id: chosen by who sends, 1 to 64 letters and digits */
	uint64_t offset;       /* of the part; 0 begins the file */
	uint64_t size;	       /* of the whole file */
	struct str bytes;
};

enum err symbol_parts_new(uint64_t max_file, struct symbol_parts **ret) MUST_CHECK;
void symbol_parts_free(struct symbol_parts *p);
/*
 * Adds a part; with the last one the file goes onto the shelf and `*ret_done` is true. A part that
 * does not begin where the one before it ended is ERR_EXISTS, and the fault says where that is.
 */
enum err symbol_parts_add(struct symbol_parts *p, struct symbol_shelf *shelf,
			  const struct symbol_part *part, bool *ret_done, struct shelf_item *ret,
			  struct fault *fault) MUST_CHECK;
