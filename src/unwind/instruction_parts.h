/* The parts of an instruction, before interpretation. */
#pragma once

#include "unwind/instruction.h"

enum opcode_map { MAP_PLAIN, MAP_0F, MAP_0F38, MAP_0F3A, MAP_OTHER };

struct instruction_parts {
	const u8 *at, *end; /* remaining bytes */
	bool bad;	    /* they ended too early */
	bool wide;	    /* REX.W: operands of eight bytes */
	bool narrow;	    /* 66: operands of two bytes */
	bool short_address;
	bool extended_reg, extended_rm; /* REX: registers r8 to r15 */
	bool vector;			/* other instructions with the same numbers */
	u8 map;				/* enum opcode_map */
	u8 op, modrm, sib;
	u32 form; /* what follows the opcode */
	s32 displacement;
	s64 immediate;
};

/* Determines its effect on the stack: `kind` and `value`. */
void instruction_meaning(const struct instruction_parts *p, struct instruction *ret);
