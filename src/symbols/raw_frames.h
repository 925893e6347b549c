/*
 * The frames at an address as found by a source of symbols (DWARF, symbol table, Go's table):
 * slices of the file, not yet copied, joined or demangled. Innermost frame first.
 */
#pragma once

#include <stdbool.h>

#include "base/str.h"
#include "symbols/symbols.h"

struct raw_frame {
	struct str linkage;			   /* from the symbol table, perhaps mangled */
	struct str name;			   /* from the source */
	struct str top_directory, directory, file; /* the path, in up to three parts */
	uint32_t line, column, start_line;
	bool inlined;
};

struct raw_frames {
	uint64_t start, end; /* the result is the same for all addresses of this range */
	size_t n;
	struct raw_frame v[SYMBOL_FRAMES_MAX];
};

/* Narrows the range of validity by a range that contains the address, or does not. */
static inline void raw_frames_narrow(struct raw_frames *f, uint64_t address, uint64_t start,
				     uint64_t end)
{
	if (address < start) {
		if (start < f->end)
			f->end = start;
	} else if (address >= end) {
		if (end > f->start)
			f->start = end;
	} else {
		if (start > f->start)
			f->start = start;
		if (end < f->end)
			f->end = end;
	}
}
