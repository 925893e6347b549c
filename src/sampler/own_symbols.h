/*
 * Symbols of this process: of the program by its ELF symbol table, which includes local functions;
 * of libraries by their exported symbols.
 */
#pragma once

#include "base/str.h"
#include "base/vec.h"

struct own_symbol {
	uint64_t start, end; /* as linked */
	uint32_t name;	     /* offset in names */
};

struct own_symbols {
	uintptr_t base, limit;	     /* load address of the program; 0 = unknown */
	VEC(struct own_symbol) list; /* by start */
	VEC(char) names;
};

/* A program without a symbol table has no symbols; that is no error. */
enum err own_symbols_load(struct own_symbols *s, struct fault *fault) MUST_CHECK;
void own_symbols_release(struct own_symbols *s);

#define SYMBOL_TEXT 256
/* The function's name, "[libz.so.1]" if only the file is known, "[unknown]" otherwise. Compiler
 * suffixes (".part.0") are removed. The string is owned by the symbols, or is `text`. */
struct str own_symbols_find(const struct own_symbols *s, uintptr_t address, char text[SYMBOL_TEXT]);

/* The functions of a 64-bit ELF file; for own_symbols_load and tests. */
enum err own_symbols_parse(struct own_symbols *s, struct str elf) MUST_CHECK;
