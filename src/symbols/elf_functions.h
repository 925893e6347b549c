/*
 * The functions of a symbol table in order of their addresses, 16 bytes each. At one address the
 * best of several names is kept: one with a size, a function before a label, a visible one before a
 * local one, fewer leading underscores (C libraries know read as __read and __libc_read too), not a
 * weak one, the shorter one.
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

/* The image stays the caller's and outlives the functions. `table` may be NULL: no functions. */
enum err elf_functions_init(struct elf_functions *f, const struct elf_image *image,
			    const struct elf_section *table) MUST_CHECK;
void elf_functions_release(struct elf_functions *f);

struct elf_function_range {
	struct str name;     /* followed by a NUL or an '@' */
	uint64_t start, end; /* every address between has this name */
};

/* A symbol with a size also names the padding behind it, up to the next multiple of 16; one
 * without reaches to the next symbol or the end of its section. */
bool elf_functions_find(const struct elf_functions *f, uint64_t address,
			struct elf_function_range *ret);

/* Narrows a range around an address without a name to where this table has none either. */
void elf_functions_narrow_gap(const struct elf_functions *f, uint64_t address, uint64_t *start,
			      uint64_t *end);

/* The function a procedure linkage stub jumps to; false when the address is in no stub. */
bool elf_stub_find(const struct elf_image *e, uint64_t address, struct elf_function_range *ret);
