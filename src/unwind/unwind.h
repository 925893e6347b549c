/*
 * Unwinding without frame pointers: converts a program's .eh_frame to small tables that BPF
 * programs can search (unwind_format.h); also contains the unwinder for use outside of the kernel.
 *
 * ELF files are not trusted: every size has a ceiling. Tables are built once per file and shared by
 * all processes that map it.
 */
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "unwind/unwind_format.h"

/* The long rules, shared by all tables. Not thread safe. */
struct unwind_rules;

enum err unwind_rules_new(struct unwind_rules **ret) MUST_CHECK;
void unwind_rules_free(struct unwind_rules *rules);
/* The number for a row; UNWIND_RULE_NONE if there are too many. */
u32 unwind_rules_intern(struct unwind_rules *rules, const struct unwind_rule *rule);
const struct unwind_rule *unwind_rules_all(const struct unwind_rules *rules, size_t *ret_count);

/*
 * A table that is not placed yet: `pages` has for each page the byte offset of its block in
 * `blocks` plus 1, or 0. Blocks begin at multiples of 8 bytes.
 */
struct unwind_table {
	u32 *pages;
	u32 page_count;
	struct buf blocks;
	size_t rows;
};

/* Identity of a file, and where its code is. */
struct unwind_load {
	u64 file_offset, address, size; /* an executable PT_LOAD: bytes of the file at an address */
};

#define UNWIND_LOADS_MAX     32
#define UNWIND_BUILD_ID_SIZE 32

struct unwind_image {
	struct unwind_load loads[UNWIND_LOADS_MAX];
	u32 load_count;
	u8 build_id[UNWIND_BUILD_ID_SIZE];
	u32 build_id_size;
	u64 entry;
	bool go; /* has Go's table of functions */
};

/* Reads the headers. ERR_CORRUPT if it is no ELF file for this machine. */
enum err unwind_image_read(struct str file, struct unwind_image *ret,
			   struct fault *fault) MUST_CHECK;
/* Range of its code addresses. */
struct unwind_load unwind_image_span(const struct unwind_image *image);
/* Builds the table. For a file without unwind information it has no pages. */
enum err unwind_table_build(struct str file, struct unwind_rules *rules, struct unwind_table *ret,
			    struct fault *fault) MUST_CHECK;
/* The rule for a single address, without building the table. ERR_NOT_FOUND if that requires the
 * table. */
enum err unwind_rule_search(struct str file, u64 address, struct unwind_rules *rules,
			    u32 *ret) MUST_CHECK;
/*
 * Takes over a table built by another process, with `theirs` as its rules: validates it, and
 * renumbers its long rules for `rules`. After a failure it is unusable.
 */
enum err unwind_table_adopt(struct unwind_table *t, const struct unwind_rule *theirs, size_t count,
			    struct unwind_rules *rules) MUST_CHECK;
void unwind_table_release(struct unwind_table *t);
/* The rule for an address of the module, for tests and tools. */
u32 unwind_table_rule(const struct unwind_table *t, u64 address);

/*
 * The unwinder outside of the kernel, for a copied stack or any memory. A callback finds the rules.
 */
struct unwind_process {
	void *context;
	/* Reads 8 bytes of memory; false if that fails. */
	bool (*read)(void *context, u64 address, u64 *ret);
	/*
	 * The rule for an address of the process. Returns -1 and sets `ret_rule`, or the
	 * enum unwind_end that ends the walk here.
	 */
	int (*rule)(void *context, u64 address, u32 *ret_rule);
	const struct unwind_rule *rules;
	size_t rule_count;
};

/*
 * Unwinds from `registers` (by DWARF number; 16 is the instruction pointer) and writes addresses
 * leaf first: the leaf's, then return addresses. Returns how the walk ended.
 */
enum unwind_end unwind_walk(const struct unwind_process *p, const u64 registers[17], u64 *addresses,
			    size_t max, size_t *ret_count);
