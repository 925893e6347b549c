/*
 * Names for addresses of this process: of the program itself by its ELF symbol table, which has
 * the functions nobody exports too; of libraries by what they export.
 */
#pragma once

#include "base/str.h"
#include "base/vec.h"

struct own_symbol {
	uint64_t start, end; /* as linked */
	uint32_t name;	     /* offset in names */
};

struct own_symbols {
	uintptr_t base, limit;	     /* where the program is; 0 = not known */
	VEC(struct own_symbol) list; /* by start */
	VEC(char) names;
};

/* A program without a symbol table has no names of its own, and that is no error. */
enum err own_symbols_load(struct own_symbols *s, struct fault *fault) MUST_CHECK;
void own_symbols_release(struct own_symbols *s);

#define SYMBOL_TEXT 256
/* The function's name, "[libz.so.1]" when only the file is known, "[unknown]" when nothing is.
 * What compilers append to names (".part.0") is cut off. The text is the symbols' or `text`. */
struct str own_symbols_find(const struct own_symbols *s, uintptr_t address, char text[SYMBOL_TEXT]);

/* The functions of an ELF file of 64 bits, for own_symbols_load and for tests. */
enum err own_symbols_parse(struct own_symbols *s, struct str elf) MUST_CHECK;
