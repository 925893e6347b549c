/* Shared by symbol_file.c (opening, memory) and symbol_answer.c (lookups). */
#pragma once

#include "symbols/debug_files.h"
#include "symbols/elf_functions.h"
#include "symbols/go_table.h"
#include "symbols/symbol_cache.h"

struct symbol_file {
	char *path, *root, *cache_path;
	struct symbol_options options; /* with the copies of root and cache directory above */
	struct elf_source program, debug, mini, alternate;
	char debug_path[DEBUG_PATH_MAX];
	bool looked_for_debug; /* stage 1: searched for a separate file, opened the cache */
	bool loaded;	       /* stage 2: tables are loaded */
	uint64_t key, fetched_key;
	bool fetched;
	struct dwarf *dwarf; /* of program or debug */
	uint64_t touched;    /* bytes of the files read since their pages were released */
	struct elf_functions symtab, mini_symtab, dynsym;
	struct go_table go;
	struct symbol_cache cache;
	VEC(uint32_t)
	functions; /* id of a linkage name - 1 -> id of its demangled name, 0 = not yet known */
	struct raw_frames raw;
};

/* symbol_file.c: does nothing without debug information. */
enum err symbol_file_open_dwarf(struct symbol_file *f) MUST_CHECK;
/* symbol_answer.c */
enum err symbol_file_work_out(struct symbol_file *f, uint64_t address) MUST_CHECK;
