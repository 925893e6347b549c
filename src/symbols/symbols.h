/*
 * Symbolization: of native programs (ELF symbols, DWARF, Go's table), of the kernel, of
 * JIT-compiled code.
 *
 * Files are not trusted: everything is bounded, and damaged files give fewer symbols, never a
 * crash. Objects are not thread safe; different ones may be used by different threads. Names are as
 * written by the compiler, usually UTF-8, NUL-terminated, and owned by the object that returned
 * them.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/str.h"

#define SYMBOL_FRAMES_MAX 64

/* One function at an address. Unknown strings are "", unknown numbers 0. */
struct symbol_frame {
	const char *function; /* for display, demangled according to the options */
	const char *linkage;  /* as in the symbol table */
	const char *file;     /* absolute if the compiler recorded it so */
	uint32_t line, column;
	uint32_t start_line; /* of the function */
	bool inlined;	     /* inlined into the following frame */
};

/* ---- files ---- */

enum symbol_names {
	SYMBOL_NAMES_FULL,   /* std::vector<int>::push_back(int const&) */
	SYMBOL_NAMES_SIMPLE, /* std::vector::push_back */
	SYMBOL_NAMES_RAW,    /* _ZNSt6vectorIiSaIiEE9push_backERKi */
};

struct symbol_options {
	enum symbol_names names;
	/* Prefix of every path outside the file itself: "/proc/42/root" for a process in another
	 * mount namespace. NULL is "". */
	const char *root;
	/* Folders of separate debug files, below root: NULL-terminated; NULL is "/usr/lib/debug".
	 * The list must outlive the file. */
	const char *const *debug_directories;
	/* Cache folder, see symbol_file_save; NULL = none. */
	const char *cache_directory;
	/* Do not search outside the file except by fetch_debug: for uploaded files. */
	bool alone;
	/* Called for a debug file that is not on this machine, or for a shared one: takes a build
	 * id in hexadecimal, returns a descriptor that the library then owns. It must limit time
	 * and size itself. */
	enum err (*fetch_debug)(void *context, const char *build_id, int *ret_fd);
	void *fetch_context;
	/* Ceiling for indexes and for names, each; 0 is 64 MiB. */
	size_t memory;
};

struct symbol_facts {
	uint16_t type;		/* ET_EXEC, ET_DYN, ET_CORE … */
	bool code;		/* a program or library, not a debug file */
	struct str build_id;	/* GNU, raw bytes; may be empty */
	struct str go_build_id; /* text */
	const char *debug_file; /* the separate debug file in use, or "" */
	bool symtab, dynsym, dwarf, go_table, mini_debuginfo;
};

struct symbol_file;

/*
 * Reads the headers of an ELF file; everything else is read on lookup. The caller may close `fd`
 * immediately; `path` is for messages and for finding debug files next to the file.
 */
enum err symbol_file_new(int fd, const char *path, const struct symbol_options *options,
			 struct symbol_file **ret, struct fault *fault) MUST_CHECK;
void symbol_file_free(struct symbol_file *f);
/* Opens further files if necessary. Valid until the file is freed. */
enum err symbol_file_facts(struct symbol_file *f, struct symbol_facts *ret) MUST_CHECK;
/* Whether it can be used for stored profiles: it has a build id and symbols, and is no core
 * file. */
enum err symbol_facts_check(const struct symbol_facts *facts, struct fault *fault) MUST_CHECK;

/*
 * The functions at an address of the file (vaddr), innermost first. Look up many addresses in
 * order, so that each part of a large file is read and released only once. `*ret_n` is 0 if nothing
 * is known; a frame without a function has only a line. Frames above `max` are dropped from the
 * outer end. Strings are valid until symbol_file_trim or _free. ERR_TOO_LARGE: the memory for names
 * is full; trim and try again. ERR_TRUNCATED: the file was truncated (symbols_guard) and cannot be
 * used any more.
 */
enum err symbol_file_lookup(struct symbol_file *f, uint64_t vaddr, struct symbol_frame *frames,
			    size_t max, size_t *ret_n) MUST_CHECK;

/* Addresses from `start` until before `end`. */
struct symbol_range {
	uint64_t start, end;
};

/* The same, and the range of addresses with the same result. */
enum err symbol_file_lookup_range(struct symbol_file *f, uint64_t vaddr,
				  struct symbol_frame *frames, size_t max, size_t *ret_n,
				  struct symbol_range *ret_range) MUST_CHECK;

/* Whether an address is in a loaded segment, including its part without file contents (.bss). */
bool symbol_file_holds(const struct symbol_file *f, uint64_t vaddr);
/* The variable that contains an address, demangled, and the offset in it. ERR_NOT_FOUND. */
enum err symbol_file_object(struct symbol_file *f, uint64_t vaddr, char *name, size_t size,
			    uint64_t *ret_offset) MUST_CHECK;

/* By the program headers: converts a file offset of a mapping to an address of the file. */
bool symbol_file_offset_to_vaddr(const struct symbol_file *f, uint64_t offset, uint64_t *ret);
bool symbol_file_vaddr_to_offset(const struct symbol_file *f, uint64_t vaddr, uint64_t *ret);

/* A mapping as in profiles; a limit of 0 = unknown, then addresses are those of the file. */
struct symbol_mapping {
	uint64_t start, limit, offset;
};

/*
 * Converts an address of a mapping to an address of the file. A mapping is one segment, as mapped
 * by the kernel, or the whole file as loaded.
 */
bool symbol_file_mapped_to_vaddr(const struct symbol_file *f, const struct symbol_mapping *m,
				 uint64_t address, uint64_t *ret);

/* Writes new results to the cache directory, if any. */
enum err symbol_file_save(struct symbol_file *f, struct fault *fault) MUST_CHECK;
/* Frees memory: indexes, names and pages of the file. */
void symbol_file_trim(struct symbol_file *f);

/* Releases the pages of the file and decompressed sections; they are read again on demand. */
void symbol_file_drop_pages(struct symbol_file *f);
/* The same for every open symbol file. Async-signal-safe. */
void symbols_drop_pages(void);
/* Drops cached results and their strings, for callers with a cache of their own; keeps the
 * indexes. */
void symbol_file_forget(struct symbol_file *f);

/* Installs a SIGBUS handler for files that are truncated while they are read (mapped_file.h). Once
 * per process. */
enum err symbols_guard(void) MUST_CHECK;

/* ---- names ---- */

#define SYMBOL_NAME_MAX 4096

/*
 * Demangles C++ and Rust into `out` (of `size` bytes, NUL-terminated, truncated if too long). False
 * if the name is not mangled or cannot be demangled; `out` is then the unchanged name.
 */
bool symbol_demangle(const char *name, enum symbol_names names, char *out, size_t size);

/* ---- kernel ---- */

struct kernel_symbols;

/* Reads /proc/kallsyms, or a file like it. ERR_NO_PERMISSION: it hides addresses from this process;
 * `fault` has the fix. */
enum err kernel_symbols_new(const char *path, struct kernel_symbols **ret,
			    struct fault *fault) MUST_CHECK;
/* The same in steps, to limit the time per call: nothing is found until it is complete. */
enum err kernel_symbols_begin(const char *path, struct kernel_symbols **ret,
			      struct fault *fault) MUST_CHECK;
/* Reads about this many more bytes. */
enum err kernel_symbols_continue(struct kernel_symbols *k, size_t bytes, bool *ret_complete,
				 struct fault *fault) MUST_CHECK;
void kernel_symbols_free(struct kernel_symbols *k);
/* Reads again, because modules and BPF programs change. On failure nothing changes. */
enum err kernel_symbols_refresh(struct kernel_symbols *k, struct fault *fault) MUST_CHECK;

struct kernel_symbol {
	const char *name;
	const char *module; /* "" for the kernel itself, "bpf" for BPF programs */
	uint64_t start;
};

bool kernel_symbols_find(const struct kernel_symbols *k, uint64_t address,
			 struct kernel_symbol *ret);
size_t kernel_symbols_count(const struct kernel_symbols *k);
/* Bytes of memory in use. */
size_t kernel_symbols_memory(const struct kernel_symbols *k);

/* ---- code made at run time ---- */

struct jit_symbols;

enum err jit_symbols_new(size_t memory, struct jit_symbols **ret) MUST_CHECK;
void jit_symbols_free(struct jit_symbols *j);

/*
 * Reads /tmp/perf-PID.map of a process, or what was added since the last call, using the root
 * directory and the pid namespace of the process. ERR_NOT_FOUND: there is none. ERR_NO_PERMISSION:
 * it is not a regular file that the process's user or root owns.
 */
enum err jit_symbols_read_map(struct jit_symbols *j, pid_t pid) MUST_CHECK;
/* Only opens and checks the file, for reading by another process. */
enum err jit_map_open(pid_t pid, int *ret) MUST_CHECK;
/* The same from an open file: reads what was added since the last call. */
enum err jit_symbols_read_map_fd(struct jit_symbols *j, int fd) MUST_CHECK;
/* The same, at most about this many bytes; the next call continues. */
enum err jit_symbols_read_map_some(struct jit_symbols *j, int fd, uint64_t bytes) MUST_CHECK;
/* Reads a jitdump (jit-PID.dump, which its process keeps mapped), or what was added. */
enum err jit_symbols_read_dump_fd(struct jit_symbols *j, int fd) MUST_CHECK;
/* Whether this is the name of a jitdump; for scanning mappings. */
bool jit_is_dump(const char *path);
/* One frame; file and line only from a jitdump. */
bool jit_symbols_find(const struct jit_symbols *j, uint64_t address, struct symbol_frame *ret);
/* The same, and the range of addresses with the same result. */
bool jit_symbols_find_range(const struct jit_symbols *j, uint64_t address, struct symbol_frame *ret,
			    struct symbol_range *ret_range);
/* Bytes of memory in use. */
size_t jit_symbols_memory(const struct jit_symbols *j);

/* ---- files by build id ---- */

#include "symbols/debug_fetcher.h"
#include "symbols/symbol_store.h"
