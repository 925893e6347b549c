/* Follows the effect of instructions on the stack along all paths of the code. */
#pragma once

#include "unwind/elf_view.h"

/* Known start addresses of functions, in order. */
struct code_starts {
	const u64 *v;
	size_t n;
};

/*
 * Fills in the rule before each instruction: a word for each byte of the code, 0 where no
 * instruction begins. `root` has no caller.
 */
enum err code_follow(struct elf_part code, u64 root, const struct code_starts *starts,
		     struct unwind_rules *rules, u16 *ret) MUST_CHECK;
