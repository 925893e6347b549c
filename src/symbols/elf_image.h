/*
 * An ELF file (32 or 64 bits, little endian) as tables of sections and segments, over bytes that it
 * does not own. The file is not trusted: a section outside of the file is treated as empty.
 */
#pragma once

#include <elf.h>
#include <stdbool.h>

#include "base/err.h"
#include "base/str.h"
#include "base/vec.h"

struct elf_section {
	struct str name;
	uint32_t type, link, info;
	uint64_t flags, address, offset, size;
};

struct elf_segment {
	uint32_t type, flags;
	uint64_t offset, vaddr, file_size, memory_size;
};

struct elf_image {
	struct str bytes;
	bool is64;
	uint16_t machine, type;
	VEC(struct elf_section) sections;
	VEC(struct elf_segment) segments;
	struct str build_id;	/* the GNU one, raw bytes */
	struct str go_build_id; /* text */
};

/* One symbol of .symtab or .dynsym. */
struct elf_symbol {
	uint32_t name; /* offset into the string table */
	uint8_t type, bind;
	uint16_t section;
	uint64_t value, size;
};

enum err elf_image_init(struct elf_image *e, struct str bytes) MUST_CHECK;
void elf_image_release(struct elf_image *e);

/* NULL if there is none. */
const struct elf_section *elf_section_named(const struct elf_image *e, const char *name);
const struct elf_section *elf_section_of_type(const struct elf_image *e, uint32_t type);
/* The section with `flags` that contains an address at run time, or NULL. */
const struct elf_section *elf_section_at(const struct elf_image *e, uint64_t vaddr, uint64_t flags);
/* The bytes in the file, perhaps compressed. */
struct str elf_section_raw(const struct elf_image *e, const struct elf_section *s);
/*
 * The decompressed bytes. If they had to be decompressed, the caller frees `*ret_owned`; more than
 * `ceiling` bytes is ERR_TOO_LARGE.
 */
enum err elf_section_load(const struct elf_image *e, const struct elf_section *s, uint64_t ceiling,
			  struct str *ret, void **ret_owned) MUST_CHECK;
/* Loads a large zlib-compressed section for decompression on demand. ERR_UNSUPPORTED = it is not
 * one. */
struct packed_section;
enum err elf_section_load_pieces(const struct elf_image *e, const struct elf_section *s,
				 uint64_t ceiling, struct packed_section **ret) MUST_CHECK;
/* The bytes at a run-time address, to the end of that segment's file contents. */
struct str elf_bytes_at(const struct elf_image *e, uint64_t vaddr);

/* The symbols of a section: their number, one of them, and the string table. */
size_t elf_symbol_count(const struct elf_image *e, const struct elf_section *s);
struct elf_symbol elf_symbol_at(const struct elf_image *e, const struct elf_section *s, size_t i);
struct str elf_symbol_strings(const struct elf_image *e, const struct elf_section *s);

/* Whether the file contains code: debug files have only section headers of it. */
bool elf_has_code(const struct elf_image *e);
bool elf_is_code(const struct elf_image *e, uint64_t vaddr);
bool elf_offset_to_vaddr(const struct elf_image *e, uint64_t offset, uint64_t *ret);
bool elf_vaddr_to_offset(const struct elf_image *e, uint64_t vaddr, uint64_t *ret);
