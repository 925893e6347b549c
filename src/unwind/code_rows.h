/*
 * Rules for code without unwind information (musl's libc, assembler, compiler options): the effect
 * of its instructions on the stack pointer gives the position of the return address.
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
	VEC(struct code_range) silent; /* code still to be followed, by address */
	VEC(u64) functions;	       /* function starts, from calls and symbols */
	bool sorted;
};

void code_map_open(const struct elf_view *e, struct unwind_rules *rules, struct code_map *ret);
void code_map_release(struct code_map *m);
/* First for all code without unwind information: finds its calls. */
enum err code_calls(struct code_map *m, u64 from, u64 to) MUST_CHECK;
/* Then calls `each` with the rule valid from an address on, in order, for all code from `from` to
 * `to`; after that no rule is known. */
enum err code_rows(struct code_map *m, u64 from, u64 to, void *context,
		   void (*row)(void *context, u64 address, u32 rule)) MUST_CHECK;
