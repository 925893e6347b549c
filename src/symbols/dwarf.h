/*
 * A lean reader of DWARF 2 to 5 for one question: which functions, inlined ones too, and which line
 * does an address belong to.
 *
 * Nothing is read before it is needed: the first question walks the headers of the units and their
 * root entries; a unit's functions and lines are indexed when an address first falls into it. The
 * indexes are dropped and made again when they exceed the reader's memory. Line tables are not kept
 * decoded: an index of places where decoding can begin is (dwarf_line.c).
 *
 * Not read: split units (.dwo), type units, .debug_types. Bytes belong to the caller and stay.
 * Damaged input leads to fewer answers, never to an error other than ERR_NO_MEMORY. Not thread
 * safe.
 */
#pragma once

#include "base/err.h"
#include "symbols/raw_frames.h"

struct packed_section;

struct dwarf_sections {
	struct str info, abbrev, line, str, line_str, ranges, rnglists, addr, str_offsets;
	/* Compressed sections behind the three; NULL = not compressed. */
	struct packed_section *packed_info, *packed_abbrev, *packed_line;
};

struct dwarf;

/* `alternate` is the file that several others share (.gnu_debugaltlink), or NULL; it stays the
 * caller's. `memory` is the ceiling for indexes. */
enum err dwarf_new(const struct dwarf_sections *sections, struct dwarf *alternate, size_t memory,
		   struct dwarf **ret) MUST_CHECK;
void dwarf_free(struct dwarf *d);
/* Fills `ret`; `ret->n` is 0 when there is no function at the address. With a line but no function
 * there is one frame without names. */
enum err dwarf_lookup(struct dwarf *d, uint64_t address, struct raw_frames *ret) MUST_CHECK;
/* Forgets what can be read again. */
void dwarf_trim(struct dwarf *d);
/* Frees decompressed parts of compressed sections, and keeps the indexes. */
void dwarf_drop_pieces(struct dwarf *d);
/* About how many bytes of the sections were read since the last time this was asked. */
uint64_t dwarf_touched(struct dwarf *d);
