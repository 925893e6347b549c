/* What instructions do to the stack, one after the other along the ways that code can take. */
#pragma once

#include "unwind/elf_view.h"

/* Addresses where functions are known to begin, in order. */
struct code_starts {
	const u64 *v;
	size_t n;
};

/*
 * Fills in the rule that holds before each instruction: a word for each byte of the code, which
 * stays 0 where no instruction begins. Nobody called `root`.
 */
enum err code_follow(struct elf_part code, u64 root, const struct code_starts *starts,
		     struct unwind_rules *rules, u16 *ret) MUST_CHECK;
