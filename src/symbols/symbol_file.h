/* What the parts of a symbol_file share: symbol_file.c opens and keeps, symbol_answer.c answers. */
#pragma once

#include "symbols/debug_files.h"
#include "symbols/elf_functions.h"
#include "symbols/go_table.h"
#include "symbols/symbol_cache.h"

struct symbol_file {
	char *path, *root, *cache_path;
	struct symbol_options options; /* root and cache directory are the copies above */
	struct elf_source program, debug, mini, alternate;
	char debug_path[DEBUG_PATH_MAX];
	bool looked_for_debug; /* stage 1: separate file found or not, cache open */
	bool loaded;	       /* stage 2: tables are there */
	uint64_t key, fetched_key;
	bool fetched;
	struct dwarf *dwarf; /* of program or debug */
	uint64_t touched;    /* bytes of the files read since their pages were given back */
	struct elf_functions symtab, mini_symtab, dynsym;
	struct go_table go;
	struct symbol_cache cache;
	VEC(uint32_t)
	functions; /* id of a linkage name - 1 -> id of its demangled name, 0 = not yet known */
	struct raw_frames raw;
};

/* symbol_file.c: without debug information there is nothing to do. */
enum err symbol_file_open_dwarf(struct symbol_file *f) MUST_CHECK;
/* symbol_answer.c */
enum err symbol_file_work_out(struct symbol_file *f, uint64_t address) MUST_CHECK;
