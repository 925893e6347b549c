/*
 * Unwinding without frame pointers: what a program's .eh_frame says, made into small tables that
 * the kernel side can search (unwind_format.h), and the unwinder itself for use outside the kernel.
 *
 * A builder reads an ELF image of a stranger: nothing in it is trusted, every size has a ceiling.
 * Tables are built once per file and shared by all processes that map it.
 */
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "unwind/unwind_format.h"

/* The rules of the long kind, shared by all tables. Not thread safe. */
struct unwind_rules;

enum err unwind_rules_new(struct unwind_rules **ret) MUST_CHECK;
void unwind_rules_free(struct unwind_rules *rules);
/* The number to put into a row; UNWIND_RULE_NONE when there are too many. */
u32 unwind_rules_intern(struct unwind_rules *rules, const struct unwind_rule *rule);
const struct unwind_rule *unwind_rules_all(const struct unwind_rules *rules, size_t *ret_count);

/*
 * A table on its own, not yet at its place: `pages` holds for each page the offset of its block in
 * `blocks` plus 1 in bytes, or 0. Blocks begin at multiples of 8 bytes.
 */
struct unwind_table {
	u32 *pages;
	u32 page_count;
	struct buf blocks;
	size_t rows;
};

/* What a file is known by and where its code lies. */
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

/* Reads the headers. ERR_CORRUPT when it is no ELF file for this machine. */
enum err unwind_image_read(struct str file, struct unwind_image *ret,
			   struct fault *fault) MUST_CHECK;
/* From its lowest address with code to its highest: addresses of two runs are then equal. */
struct unwind_load unwind_image_span(const struct unwind_image *image);
/* Makes the table. A file without any unwinding information gives one without pages. */
enum err unwind_table_build(struct str file, struct unwind_rules *rules, struct unwind_table *ret,
			    struct fault *fault) MUST_CHECK;
/* The rule that the table would have for an address of the module, without making it: for few
 * addresses. ERR_NOT_FOUND where only the table can tell. */
enum err unwind_rule_search(struct str file, u64 address, struct unwind_rules *rules,
			    u32 *ret) MUST_CHECK;
/*
 * Takes a table over that another process built, with `theirs` as its rules: it is looked through,
 * and its long rules get the numbers that they have in `rules`. After a failure it is of no use.
 */
enum err unwind_table_adopt(struct unwind_table *t, const struct unwind_rule *theirs, size_t count,
			    struct unwind_rules *rules) MUST_CHECK;
void unwind_table_release(struct unwind_table *t);
/* The rule for an address of the module, for tests and tools. */
u32 unwind_table_rule(const struct unwind_table *t, u64 address);

/*
 * The unwinder outside the kernel, over a stack that was copied (or any memory). Tables are found
 * by a function, so that the caller may keep them where it likes.
 */
struct unwind_process {
	void *context;
	/* 8 bytes of memory; false when they are not there. */
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
 * Walks from `registers` (by DWARF number; number 16 is the address of the instruction) and
 * writes addresses leaf first: the leaf's own, then those of the calls' ends (return addresses).
 * Returns how it ended.
 */
enum unwind_end unwind_walk(const struct unwind_process *p, const u64 registers[17], u64 *addresses,
			    size_t max, size_t *ret_count);
