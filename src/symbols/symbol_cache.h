/*
 * Answers that were worked out before: in memory for what was asked through this object, and a file
 * per build id that is mapped, searched where it lies and never changed in place.
 *
 *	magic	    "VSYMS", version
 *	checksum    of everything behind it, 64 bits
 *	key	    what the answers depend on beside the program: debug file, kind of names
 *	counts	    ranges, frames, bytes of text
 *	ranges	    by address, disjoint: start, size, first frame, number of frames
 *	frames	    function, linkage name, file (offsets of text), lines, column, inlined
 *	text	    NUL-terminated; offset 0 is ""
 *
 * Numbers are in the machine's order: the file is for the machine that wrote it. Whatever does not
 * check out is not used, and replaced by the next save.
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
	struct mapped_file file; /* no bytes: there is none */
	const struct cached_range *file_ranges;
	const struct cached_frame *file_frames;
	size_t file_range_count, file_frame_count;
	struct str file_text;
};

void symbol_cache_init(struct symbol_cache *c, size_t memory);
void symbol_cache_release(struct symbol_cache *c);
/* Uses a file if there is one with one of two keys. ERR_NOT_FOUND, ERR_CORRUPT: it is not used. */
enum err symbol_cache_open(struct symbol_cache *c, const char *path, uint64_t key,
			   uint64_t other_key) MUST_CHECK;
/* Answers from memory or file; the range is where the answer is the same. */
bool symbol_cache_find(const struct symbol_cache *c, uint64_t address, struct symbol_frame *frames,
		       size_t max, size_t *ret_n, struct symbol_range *ret_range);
/* Keeps an answer: frames[i] with its texts as ids of c->names. */
enum err symbol_cache_add(struct symbol_cache *c, uint64_t address, uint64_t start, uint64_t end,
			  const struct cached_frame *frames, size_t n) MUST_CHECK;
/* Writes the file's answers and the new ones; nothing new is nothing to do. */
enum err symbol_cache_save(struct symbol_cache *c, const char *path, uint64_t key,
			   struct fault *fault) MUST_CHECK;
/* Forgets what is in memory alone. */
void symbol_cache_trim(struct symbol_cache *c);
