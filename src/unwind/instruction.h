/*
 * Decodes x86-64 instructions as far as needed for unwinding: length, successors, and effect on rsp
 * and rbp.
 */
#pragma once

#include "base/str.h"
#include "unwind/unwind_format.h"

enum instruction_kind {
	INSTRUCTION_OTHER,	/* no effect on the stack */
	INSTRUCTION_PADDING,	/* nop, int3: between functions */
	INSTRUCTION_JUMP,	/* to `target` */
	INSTRUCTION_BRANCH,	/* to `target` or the next instruction */
	INSTRUCTION_JUMP_FAR,	/* indirect jump */
	INSTRUCTION_CALL,	/* call of `target`, or 0 if indirect */
	INSTRUCTION_RETURN,	/* also instructions without successor: ud2, hlt */
	INSTRUCTION_PUSH,	/* rsp -= 8 */
	INSTRUCTION_PUSH_RBP,	/* rsp -= 8, and rbp is stored there */
	INSTRUCTION_POP,	/* rsp += 8 */
	INSTRUCTION_POP_RBP,	/* rsp += 8, and rbp is the caller's */
	INSTRUCTION_MOVE_RSP,	/* rsp += value */
	INSTRUCTION_RBP_IS_RSP, /* rbp = rsp */
	INSTRUCTION_RSP_IS_RBP, /* rsp = rbp + value */
	INSTRUCTION_LEAVE,	/* rsp = rbp + 8, and rbp is the caller's */
	INSTRUCTION_CLEAR_RBP,	/* rbp = 0 */
	INSTRUCTION_LOSE_RBP,	/* rbp gets an unknown value */
	INSTRUCTION_LOSE_RSP,	/* rsp gets an unknown value */
};

struct instruction {
	enum instruction_kind kind;
	u32 length;
	s64 value;  /* see above */
	u64 target; /* an address */
};

/* Decodes the instruction at `address`, at the start of `code`. False if it is invalid or
 * truncated.
 */
bool instruction_read(struct str code, u64 address, struct instruction *ret);
