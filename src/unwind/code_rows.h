/*
 * Rules for code that nothing is said about: musl's libc, hand-written assembler, compilers that
 * were told to leave it out. Its instructions are read; what each does to the stack pointer says
 * where the return address lies.
 */
#pragma once

#include "base/vec.h"
#include "unwind/elf_view.h"

#define CODE_PARTS_MAX 32

struct code_range {
	u64 start, end;
};

/* The code of a file. */
struct code_map {
	const struct elf_view *view;
	struct unwind_rules *rules;
	struct elf_part parts[CODE_PARTS_MAX]; /* by address */
	u32 part_count;
	VEC(struct code_range) silent; /* what has to be followed, by address */
	VEC(u64) functions;	       /* that begin there, as calls and symbols say */
	bool sorted;
};

void code_map_open(const struct elf_view *e, struct unwind_rules *rules, struct code_map *ret);
void code_map_release(struct code_map *m);
/* First for all that nothing is said about: who calls whom there. */
enum err code_calls(struct code_map *m, u64 from, u64 to) MUST_CHECK;
/* Then calls back with the rule that holds from an address on, in order, for all code from `from`
 * to `to`; behind it nothing is known. */
enum err code_rows(struct code_map *m, u64 from, u64 to, void *context,
		   void (*row)(void *context, u64 address, u32 rule)) MUST_CHECK;
