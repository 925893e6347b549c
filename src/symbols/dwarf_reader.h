/*
 * Shared by the files of the DWARF reader: units, abbreviations, forms of attributes.
 *
 *	dwarf_abbrev.c	    tables of abbreviations, a few kept
 *	dwarf_form.c	    values of attributes: addresses, strings, references, range lists
 *	dwarf_unit.c	    the list of units and which addresses they hold
 *	dwarf_function.c    functions of a unit, the inlined calls around an address, names
 *	dwarf_line.c	    the line of an address
 *	dwarf_line_header.c the head of a line table, and the files it names
 */
#pragma once

#include "base/vec.h"
#include "symbols/address_ranges.h"
#include "symbols/byte_cursor.h"
#include "symbols/dwarf.h"
#include "symbols/dwarf_constants.h"

/* One attribute of an abbreviation. */
struct dwarf_attr {
	uint16_t name;
	uint8_t form; /* DW_FORM_*, the GNU ones as FORM_GNU_* */
	uint8_t size; /* size of its value, or ATTR_VARIES */
	uint32_t implicit;
};

#define ATTR_VARIES 255

struct dwarf_abbrev {
	uint64_t code;
	uint32_t first, count; /* attributes */
	uint32_t fixed;	       /* size of all attributes, or ABBREV_VARIES */
	uint16_t tag;
	bool children, has_code, has_sibling;
};

#define ABBREV_VARIES UINT32_MAX

struct dwarf_abbrevs {
	uint64_t at;		    /* offset in .debug_abbrev */
	uint32_t shape;		    /* address and offset sizes for which the table was read */
	uint32_t used;		    /* last use, for eviction */
	VEC(struct dwarf_abbrev) v; /* by code */
	VEC(struct dwarf_attr) attrs;
};

#define ABBREVS_KEPT 16

/* Decompressed bytes kept between lookups, for each of .debug_info and .debug_line. */
#define DWARF_PIECES_KEPT ((size_t)1 << 20)

/* A position in a line program where decoding can start, with the state at that row. */
struct line_start {
	uint64_t address, end; /* the rows from here on cover this range */
	uint32_t offset;       /* of the next opcode, from the beginning of the program */
	uint32_t file, line;
	uint16_t column;
};

/* Offsets of the entries of a name list, from the start of the line table. */
struct line_names {
	uint32_t *v;
	size_t n, cap;
};

struct line_index {
	VEC(struct line_start) starts; /* by address */
	struct line_names directories, files;
	uint64_t program, end; /* offsets in .debug_line */
	/* Version 5: position of the entry formats. */
	uint64_t directory_formats, file_formats;
	uint16_t version;
	uint8_t address_size, offset_size, minimum_length, line_range, opcode_base;
	int8_t line_base;
	uint8_t operand_counts[256];
};

struct dwarf_unit {
	uint64_t offset, root, end; /* in .debug_info: header, first entry, behind the last */
	uint64_t abbrevs;
	uint64_t low_pc, line, str_offsets_base, addr_base, rnglists_base;
	struct str directory;
	uint16_t version;
	uint8_t address_size, offset_size;
	bool has_line;
	bool functions_known;
	struct address_ranges functions; /* value: the entry, relative to the unit */
	struct line_index *lines;
};

struct dwarf {
	struct dwarf_sections s;
	struct dwarf *alternate;
	bool units_known;
	VEC(struct dwarf_unit) units; /* by offset */
	struct address_ranges ranges; /* value: index of the unit */
	struct dwarf_abbrevs kept[ABBREVS_KEPT];
	uint32_t clock;
	uint64_t budget; /* limit of range list entries for this lookup */
	size_t memory, memory_limit;
	uint64_t touched; /* bytes read, for releasing pages */
};

struct dwarf_value {
	uint8_t form; /* 0 = the attribute is missing */
	uint64_t number;
	struct str text; /* DW_FORM_string */
};

/* The attributes that are used. */
struct dwarf_entry {
	const struct dwarf_abbrev *abbrev; /* valid until the next lookup of a table */
	struct dwarf_value low_pc, high_pc, ranges, name, linkage, origin, specification, call_file,
		call_line, call_column, decl_line, sibling;
	struct dwarf_value line, directory, str_offsets_base, addr_base, rnglists_base;
};

/* dwarf_abbrev.c. NULL with ERR_OK if there is no such table. */
enum err dwarf_abbrevs_get(struct dwarf *d, const struct dwarf_unit *u,
			   const struct dwarf_abbrevs **ret) MUST_CHECK;
/* Reads only up to one code. */
enum err dwarf_abbrevs_read(struct dwarf_abbrevs *t, struct str section, const struct dwarf_unit *u,
			    uint64_t only_code) MUST_CHECK;
void dwarf_abbrevs_release(struct dwarf_abbrevs *t);
const struct dwarf_abbrev *dwarf_abbrev_find(const struct dwarf_abbrevs *t, uint64_t code);

/* dwarf_form.c */
uint8_t dwarf_form_size(uint8_t form, const struct dwarf_unit *u);
void dwarf_skip_attrs(struct byte_cursor *c, const struct dwarf_abbrevs *t,
		      const struct dwarf_abbrev *a, const struct dwarf_unit *u);
void dwarf_read_attrs(struct byte_cursor *c, const struct dwarf_abbrevs *t,
		      const struct dwarf_abbrev *a, const struct dwarf_unit *u,
		      struct dwarf_entry *ret);
bool dwarf_address(const struct dwarf *d, const struct dwarf_unit *u, const struct dwarf_value *v,
		   uint64_t *ret);
struct str dwarf_string(const struct dwarf *d, const struct dwarf_unit *u,
			const struct dwarf_value *v);
/* The entry a value refers to: offset in .debug_info of *ret_in, which may be the alternate
 * file. */
bool dwarf_reference(struct dwarf *d, const struct dwarf_unit *u, const struct dwarf_value *v,
		     struct dwarf **ret_in, uint64_t *ret);

/* dwarf_ranges.c: calls `each` for every non-empty range of an entry, until an error. */
typedef enum err dwarf_range_fn(void *context, uint64_t start, uint64_t end);
enum err dwarf_entry_ranges(struct dwarf *d, const struct dwarf_unit *u,
			    const struct dwarf_entry *e, dwarf_range_fn *fn,
			    void *context) MUST_CHECK;

/* dwarf_unit.c */
enum err dwarf_units_read(struct dwarf *d, bool with_ranges) MUST_CHECK;
struct dwarf_unit *dwarf_unit_at(struct dwarf *d, uint64_t offset);
/* Decompresses the unit until the next lookup; call before dwarf_unit_bytes. */
enum err dwarf_unit_unpack(struct dwarf *d, const struct dwarf_unit *u) MUST_CHECK;
struct str dwarf_unit_bytes(const struct dwarf *d, const struct dwarf_unit *u);

/* Whether there is room for another of `n` items; further ones, in damaged or malicious files, are
 * left out. */
static inline bool dwarf_has_room(const struct dwarf *d, size_t n, size_t size)
{
	return n < d->memory_limit / size;
}

/* dwarf_function.c */
enum err dwarf_function_frames(struct dwarf *d, struct dwarf_unit *u, uint64_t address,
			       struct raw_frames *ret) MUST_CHECK;

/* dwarf_line.c: the row of an address. */
struct line_row {
	uint32_t file, line;
	uint16_t column;
};
/* Decompresses the unit's line program until the next lookup; call before the functions below. */
enum err dwarf_line_unpack(struct dwarf *d, const struct dwarf_unit *u) MUST_CHECK;
enum err dwarf_line_index(struct dwarf *d, struct dwarf_unit *u) MUST_CHECK;
bool dwarf_line_find(const struct dwarf *d, const struct dwarf_unit *u, uint64_t address,
		     struct line_row *ret, struct raw_frames *validity);
size_t line_index_size(const struct line_index *l);
void line_index_free(struct line_index *l);

/* dwarf_line_header.c: the header of a unit's line table, and the path of a file number. False if
 * the header is not supported. */
enum err line_header_read(const struct dwarf *d, const struct dwarf_unit *u, struct line_index *ret,
			  bool *ret_ok) MUST_CHECK;
void dwarf_line_path(const struct dwarf *d, const struct dwarf_unit *u, uint64_t file,
		     struct raw_frame *ret);
