/* What the readers of perf maps and jitdumps fill. */
#pragma once

#include "symbols/address_ranges.h"
#include "symbols/name_pool.h"
#include "symbols/symbols.h"

#include <sys/stat.h>

/* One piece of code that was made. */
struct jit_code {
	uint64_t start;
	uint32_t name;
	uint32_t first_line, line_count;
};

struct jit_line {
	uint32_t distance; /* from the code's start */
	uint32_t line, file;
};

/* How far a growing file has been read, and which it was. */
struct jit_progress {
	uint64_t offset;
	dev_t device;
	ino_t inode;
};

struct jit_symbols {
	struct name_pool names;
	struct address_ranges ranges; /* value: index of the code; later code has priority */
	VEC(struct jit_code) codes;
	VEC(struct jit_line) lines;
	struct jit_progress map, dump;
	uint32_t sequence;
	size_t memory;
	uint64_t searched; /* code looked at for moves, which has an end too */
};

/* Adds code; lines are those from `first_line` to the end of j->lines. */
enum err jit_table_add(struct jit_symbols *j, uint64_t start, uint64_t size, struct str name,
		       size_t first_line) MUST_CHECK;
/* The same code at another place. */
enum err jit_table_move(struct jit_symbols *j, uint64_t from, uint64_t to,
			uint64_t size) MUST_CHECK;
/* Begins at 0 when the file is another one or was shortened. ERR_UNSUPPORTED: not a file. */
enum err jit_progress_check(struct jit_progress *p, int fd, uint64_t ceiling) MUST_CHECK;
