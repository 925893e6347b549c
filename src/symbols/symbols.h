/*
 * Names for addresses: of native programs (ELF symbols, DWARF, Go's table), of the kernel, of code
 * made at run time.
 *
 * Every byte read here comes from somebody else: files are bounded, damaged ones give fewer names,
 * never a crash. Objects are not thread safe; different ones may be used by different threads.
 * Names are UTF-8 or whatever the compiler wrote, NUL-terminated, and belong to the object that
 * gave them.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/str.h"

#define SYMBOL_FRAMES_MAX 64

/* One function at an address. Text that is not known is "", a number 0. */
struct symbol_frame {
	const char *function; /* for people, demangled as the options say */
	const char *linkage;  /* as the linker knows it */
	const char *file;     /* absolute where the compiler said so */
	uint32_t line, column;
	uint32_t start_line; /* of the function */
	bool inlined;	     /* into the frame that follows */
};

/* ---- files ---- */

enum symbol_names {
	SYMBOL_NAMES_FULL,   /* std::vector<int>::push_back(int const&) */
	SYMBOL_NAMES_SIMPLE, /* std::vector::push_back */
	SYMBOL_NAMES_RAW,    /* _ZNSt6vectorIiSaIiEE9push_backERKi */
};

struct symbol_options {
	enum symbol_names names;
	/* Put before every path that is looked for outside the file itself: "/proc/42/root" for a
	 * process of another mount namespace. NULL is "". */
	const char *root;
	/* Where separate debug files are, below root: NULL-terminated; NULL is "/usr/lib/debug".
	 * The list stays the caller's and must outlive the file. */
	const char *const *debug_directories;
	/* A folder of results by build id, see symbol_file_save; NULL for none. */
	const char *cache_directory;
	/* Nothing outside the file is looked for but by fetch_debug: for files that somebody
	 * sent. */
	bool alone;
	/* Asked for a debug file that is not on this machine, or for the one that several debug
	 * files share: build id in hexadecimal, returns a descriptor that becomes the callee's. It
	 * keeps its own time limit and size limit. */
	enum err (*fetch_debug)(void *context, const char *build_id, int *ret_fd);
	void *fetch_context;
	/* Ceiling for indexes and for names, each; 0 is 64 MiB. */
	size_t memory;
};

struct symbol_facts {
	uint16_t type;		/* ET_EXEC, ET_DYN, ET_CORE … */
	bool code;		/* it is a program or library, not only what is said about one */
	struct str build_id;	/* GNU, raw bytes; empty when there is none */
	struct str go_build_id; /* text */
	const char *debug_file; /* the separate file that is used, "" when there is none */
	bool symtab, dynsym, dwarf, go_table, mini_debuginfo;
};

struct symbol_file;

/*
 * Reads an ELF file's heads; everything else waits for a look-up. `fd` stays the caller's and may
 * be closed at once; `path` is for faults and for finding debug files beside the file.
 */
enum err symbol_file_new(int fd, const char *path, const struct symbol_options *options,
			 struct symbol_file **ret, struct fault *fault) MUST_CHECK;
void symbol_file_free(struct symbol_file *f);
/* Opens what it needs to answer. Valid until the file is freed. */
enum err symbol_file_facts(struct symbol_file *f, struct symbol_facts *ret) MUST_CHECK;
/* Whether it can name what profiles have of it: it has a build id and names, and is no core
 * file. */
enum err symbol_facts_check(const struct symbol_facts *facts, struct fault *fault) MUST_CHECK;

/*
 * The functions at an address as the file counts them (vaddr), innermost first. Many addresses are
 * best asked for in order: each part of a large file is then read once and given back. `*ret_n` is
 * 0 when nothing is known; a frame without a function has only a line. Frames beyond `max` are left
 * out from the outer end. The strings stay until symbol_file_trim or _free. ERR_TOO_LARGE: the
 * memory for names is full, trim and ask again. ERR_TRUNCATED: somebody shortened the file
 * (symbols_guard), it is of no more use.
 */
enum err symbol_file_lookup(struct symbol_file *f, uint64_t vaddr, struct symbol_frame *frames,
			    size_t max, size_t *ret_n) MUST_CHECK;

/* Addresses from `start` until before `end`. */
struct symbol_range {
	uint64_t start, end;
};

/* The same, and around the address where every other one would have the same answer. */
enum err symbol_file_lookup_range(struct symbol_file *f, uint64_t vaddr,
				  struct symbol_frame *frames, size_t max, size_t *ret_n,
				  struct symbol_range *ret_range) MUST_CHECK;

/* Whether an address lies in what is loaded of the file, data that is not in the file included. */
bool symbol_file_holds(const struct symbol_file *f, uint64_t vaddr);
/* The variable that holds an address, demangled, and how far behind its begin. ERR_NOT_FOUND. */
enum err symbol_file_object(struct symbol_file *f, uint64_t vaddr, char *name, size_t size,
			    uint64_t *ret_offset) MUST_CHECK;

/* By the program headers: where a mapping's file offset is in the file's address space. */
bool symbol_file_offset_to_vaddr(const struct symbol_file *f, uint64_t offset, uint64_t *ret);
bool symbol_file_vaddr_to_offset(const struct symbol_file *f, uint64_t vaddr, uint64_t *ret);

/* A mapping as profiles have it; a limit of 0 = not known, addresses are the file's own. */
struct symbol_mapping {
	uint64_t start, limit, offset;
};

/*
 * Where an address of a mapping is in the file's address space. A mapping is one segment, as the
 * kernel maps it, or the whole file as it lies in memory.
 */
bool symbol_file_mapped_to_vaddr(const struct symbol_file *f, const struct symbol_mapping *m,
				 uint64_t address, uint64_t *ret);

/* Adds what was looked up to the cache directory; nothing to do is ERR_OK. */
enum err symbol_file_save(struct symbol_file *f, struct fault *fault) MUST_CHECK;
/* Gives memory back: indexes, names and pages of the file. */
void symbol_file_trim(struct symbol_file *f);

/* Releases the pages of the file and decompressed sections; they are read again on demand. */
void symbol_file_drop_pages(struct symbol_file *f);
/* The same for every open symbol file. May be called in a signal handler. */
void symbols_drop_pages(void);
/* Forgets what was answered, for callers who keep that themselves; the indexes stay. Strings that
 * were given are gone. */
void symbol_file_forget(struct symbol_file *f);

/* Survive files that others shorten while they are read: a handler for SIGBUS that minds only
 * pages of such files (mapped_file.h). Once for a process. */
enum err symbols_guard(void) MUST_CHECK;

/* ---- names ---- */

#define SYMBOL_NAME_MAX 4096

/*
 * Demangles C++ and Rust into `out` (of `size` bytes, NUL-terminated, cut when it is too long).
 * False when the name is not mangled or cannot be demangled; `out` is then the name as it is.
 */
bool symbol_demangle(const char *name, enum symbol_names names, char *out, size_t size);

/* ---- kernel ---- */

struct kernel_symbols;

/* Reads /proc/kallsyms, or a file like it. ERR_NO_PERMISSION: it shows no addresses to this
 * process, `fault` says what to do. */
enum err kernel_symbols_new(const char *path, struct kernel_symbols **ret,
			    struct fault *fault) MUST_CHECK;
/* The same in steps, for a process that must not take long: nothing is found until it is
 * complete. */
enum err kernel_symbols_begin(const char *path, struct kernel_symbols **ret,
			      struct fault *fault) MUST_CHECK;
/* Reads about so many bytes more. */
enum err kernel_symbols_continue(struct kernel_symbols *k, size_t bytes, bool *ret_complete,
				 struct fault *fault) MUST_CHECK;
void kernel_symbols_free(struct kernel_symbols *k);
/* Reads again: modules and BPF programs come and go. On failure nothing changes. */
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
 * Reads /tmp/perf-PID.map of a process, or what was added since the last time; the process's own
 * root and its pid in its own namespace are used. ERR_NOT_FOUND: there is none. ERR_NO_PERMISSION:
 * it is not a regular file that the process's user or root owns.
 */
enum err jit_symbols_read_map(struct jit_symbols *j, pid_t pid) MUST_CHECK;
/* The file alone, looked at as said: for those who have somebody else read it. */
enum err jit_map_open(pid_t pid, int *ret) MUST_CHECK;
/* The same from an open file: only what follows what was read before. */
enum err jit_symbols_read_map_fd(struct jit_symbols *j, int fd) MUST_CHECK;
/* The same, about so many bytes of it; the rest with the next call. */
enum err jit_symbols_read_map_some(struct jit_symbols *j, int fd, uint64_t bytes) MUST_CHECK;
/* Reads a jitdump (jit-PID.dump, which its process keeps mapped), or what was added. */
enum err jit_symbols_read_dump_fd(struct jit_symbols *j, int fd) MUST_CHECK;
/* True for the name of a jitdump, for whoever reads the list of mappings. */
bool jit_is_dump(const char *path);
/* One frame; file and line only from a jitdump. */
bool jit_symbols_find(const struct jit_symbols *j, uint64_t address, struct symbol_frame *ret);
/* The same, and around the address where other ones have the same answer. */
bool jit_symbols_find_range(const struct jit_symbols *j, uint64_t address, struct symbol_frame *ret,
			    struct symbol_range *ret_range);
/* Bytes of memory in use. */
size_t jit_symbols_memory(const struct jit_symbols *j);

/* ---- files by build id ---- */

#include "symbols/debug_fetcher.h"
#include "symbols/symbol_shelf.h"
