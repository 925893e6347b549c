/* Filled by the readers of perf maps and jitdumps. */
#pragma once

#include "symbols/address_ranges.h"
#include "symbols/name_pool.h"
#include "symbols/symbols.h"

#include <sys/stat.h>

/* A JIT-compiled function. */
struct jit_code {
	uint64_t start;
	uint32_t name;
	uint32_t first_line, line_count;
};

struct jit_line {
	uint32_t distance; /* from the code's start */
	uint32_t line, file;
};

/* Identity of a growing file, and how much of it was read. */
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
	uint64_t searched; /* number of entries examined for moves, which is limited */
};

/* Adds code; lines are those from `first_line` to the end of j->lines. */
enum err jit_table_add(struct jit_symbols *j, uint64_t start, uint64_t size, struct str name,
		       size_t first_line) MUST_CHECK;
/* Handles code that was moved. */
enum err jit_table_move(struct jit_symbols *j, uint64_t from, uint64_t to,
			uint64_t size) MUST_CHECK;
/* Starts at 0 if the file was replaced or truncated. ERR_UNSUPPORTED: not a file. */
enum err jit_progress_check(struct jit_progress *p, int fd, uint64_t ceiling) MUST_CHECK;
