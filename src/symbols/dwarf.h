/*
 * A lean reader of DWARF 2 to 5 for one purpose: the functions, including inlined ones, and the
 * line of an address.
 *
 * Everything is read on demand: the first lookup walks the headers of the units and their root
 * entries; a unit's functions and lines are indexed when an address first falls into it. The
 * indexes are dropped and rebuilt if they exceed the reader's memory. Of line tables only an index
 * of positions where decoding can start is kept (dwarf_line.c).
 *
 * Not read: split units (.dwo), type units, .debug_types. The caller owns the bytes, which must
 * stay valid. Damaged input leads to missing symbols, never to an error other than ERR_NO_MEMORY.
 * Not thread safe.
 */
#pragma once

#include "base/err.h"
#include "symbols/raw_frames.h"

struct packed_section;

struct dwarf_sections {
	struct str info, abbrev, line, str, line_str, ranges, rnglists, addr, str_offsets;
	/* The compressed form of the three sections; NULL = not compressed. */
	struct packed_section *packed_info, *packed_abbrev, *packed_line;
};

struct dwarf;

/* `alternate` is the shared file (.gnu_debugaltlink), or NULL; the caller keeps it. `memory` is the
 * ceiling for indexes. */
enum err dwarf_new(const struct dwarf_sections *sections, struct dwarf *alternate, size_t memory,
		   struct dwarf **ret) MUST_CHECK;
void dwarf_free(struct dwarf *d);
/* Fills `ret`; `ret->n` is 0 if there is no function at the address. With a line but no function
 * there is one frame without names. */
enum err dwarf_lookup(struct dwarf *d, uint64_t address, struct raw_frames *ret) MUST_CHECK;
/* Drops the indexes, which can be rebuilt. */
void dwarf_trim(struct dwarf *d);
/* Frees decompressed parts of compressed sections, and keeps the indexes. */
void dwarf_drop_pieces(struct dwarf *d);
/* Approximate number of bytes of the sections read since the last call. */
uint64_t dwarf_touched(struct dwarf *d);
