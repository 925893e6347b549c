/*
 * A cache of lookup results: in memory for lookups of this object, and a file per build id that is
 * mapped and never changed in place.
 *
 *	magic	    "VSYMS", version
 *	checksum    of everything behind it, 64 bits
 *	key what the results depend on besides the program: debug file, kind of names
 *	counts	    ranges, frames, bytes of text
 *	ranges	    by address, disjoint: start, size, first frame, number of frames
 *	frames	    function, linkage name, file (offsets of text), lines, column, inlined
 *	text	    NUL-terminated; offset 0 is ""
 *
 * Numbers are in native byte order. An invalid file is ignored, and replaced by the next save.
 */
#pragma once

#include "symbols/mapped_file.h"
#include "symbols/name_pool.h"
#include "symbols/raw_frames.h"

struct cached_range {
	uint64_t start;
	uint32_t size, first, count, unused;
};

struct cached_frame {
	uint32_t function, linkage, file; /* ids in memory, offsets in the file */
	uint32_t line, start_line;
	uint16_t column;
	uint16_t inlined;
};

struct symbol_cache {
	struct name_pool names;
	struct map known; /* address -> range */
	VEC(struct cached_range) ranges;
	VEC(struct cached_frame) frames;
	struct mapped_file file; /* empty: there is none */
	const struct cached_range *file_ranges;
	const struct cached_frame *file_frames;
	size_t file_range_count, file_frame_count;
	struct str file_text;
};

void symbol_cache_init(struct symbol_cache *c, size_t memory);
void symbol_cache_release(struct symbol_cache *c);
/* Opens the file if it has one of two keys. ERR_NOT_FOUND, ERR_CORRUPT: it is not used. */
enum err symbol_cache_open(struct symbol_cache *c, const char *path, uint64_t key,
			   uint64_t other_key) MUST_CHECK;
/* Looks up an address in memory or file; the result is valid for the returned range. */
bool symbol_cache_find(const struct symbol_cache *c, uint64_t address, struct symbol_frame *frames,
		       size_t max, size_t *ret_n, struct symbol_range *ret_range);
/* Adds a result: frames[i] with its strings as ids of c->names. */
enum err symbol_cache_add(struct symbol_cache *c, uint64_t address, uint64_t start, uint64_t end,
			  const struct cached_frame *frames, size_t n) MUST_CHECK;
/* Writes a file with the old and new results, if there are new ones. */
enum err symbol_cache_save(struct symbol_cache *c, const char *path, uint64_t key,
			   struct fault *fault) MUST_CHECK;
/* Drops the results in memory. */
void symbol_cache_trim(struct symbol_cache *c);
