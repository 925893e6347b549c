/*
 * Machine code of x86-64 as far as stacks need it: how long an instruction is, where it may go on,
 * and what it does to rsp and rbp.
 */
#pragma once

#include "base/str.h"
#include "unwind/unwind_format.h"

enum instruction_kind {
	INSTRUCTION_OTHER,	/* does nothing to the stack */
	INSTRUCTION_PADDING,	/* nop, int3: between functions */
	INSTRUCTION_JUMP,	/* to `target` */
	INSTRUCTION_BRANCH,	/* to `target` or on */
	INSTRUCTION_JUMP_FAR,	/* to where a register or memory says */
	INSTRUCTION_CALL,	/* `target` or 0, and back */
	INSTRUCTION_RETURN,	/* also what never goes on: ud2, hlt */
	INSTRUCTION_PUSH,	/* rsp -= 8 */
	INSTRUCTION_PUSH_RBP,	/* rsp -= 8, and rbp lies there */
	INSTRUCTION_POP,	/* rsp += 8 */
	INSTRUCTION_POP_RBP,	/* rsp += 8, and rbp is the caller's */
	INSTRUCTION_MOVE_RSP,	/* rsp += value */
	INSTRUCTION_RBP_IS_RSP, /* rbp = rsp */
	INSTRUCTION_RSP_IS_RBP, /* rsp = rbp + value */
	INSTRUCTION_LEAVE,	/* rsp = rbp + 8, and rbp is the caller's */
	INSTRUCTION_CLEAR_RBP,	/* rbp = 0 */
	INSTRUCTION_LOSE_RBP,	/* rbp is something else */
	INSTRUCTION_LOSE_RSP,	/* rsp is something else */
};

struct instruction {
	enum instruction_kind kind;
	u32 length;
	s64 value;  /* see above */
	u64 target; /* an address */
};

/* The instruction at `address`, whose bytes begin `code`. False when there is none, or not whole.
 */
bool instruction_read(struct str code, u64 address, struct instruction *ret);
