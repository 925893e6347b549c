/*
 * The functions of a symbol table in order of their addresses, 16 bytes each. Of several symbols at
 * an address the best is kept: with a size, function before label, global before local, fewer
 * leading underscores (C libraries have read also as __read and __libc_read), not weak, shorter.
 */
#pragma once

#include "symbols/elf_image.h"

struct elf_function {
	uint64_t start;
	uint32_t size;
	uint32_t index; /* in the symbol table */
};

struct elf_functions {
	const struct elf_image *image;
	const struct elf_section *table;
	VEC(struct elf_function) v;
};

/* The caller owns the image, which must outlive the functions. `table` may be NULL: no
 * functions. */
enum err elf_functions_init(struct elf_functions *f, const struct elf_image *image,
			    const struct elf_section *table) MUST_CHECK;
void elf_functions_release(struct elf_functions *f);

struct elf_function_range {
	struct str name;     /* followed by a NUL or an '@' */
	uint64_t start, end; /* all addresses in between have this name */
};

/* A symbol with a size also covers the padding after it, up to the next multiple of 16; one without
 * extends to the next symbol or the end of its section. */
bool elf_functions_find(const struct elf_functions *f, uint64_t address,
			struct elf_function_range *ret);

/* Narrows a range around an address without a symbol to the part where this table has none
 * either. */
void elf_functions_narrow_gap(const struct elf_functions *f, uint64_t address, uint64_t *start,
			      uint64_t *end);

/* The function that a PLT stub jumps to; false if the address is in no stub. */
bool elf_stub_find(const struct elf_image *e, uint64_t address, struct elf_function_range *ret);
