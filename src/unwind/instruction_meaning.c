#include "unwind/instruction_parts.h"

#define RSP 4u
#define RBP 5u

/* The registers of an instruction on two of them, with 8 added for the newer ones. */
static u32 reg_of(const struct instruction_parts *r)
{
	return (r->modrm >> 3 & 7) | (r->extended_reg ? 8 : 0);
}

static u32 rm_of(const struct instruction_parts *r)
{
	return (r->modrm & 7) | (r->extended_rm ? 8 : 0);
}

static bool is_register(const struct instruction_parts *r)
{
	return r->modrm >> 6 == 3;
}

/* Something is put into a register. */
static enum instruction_kind written(u32 number)
{
	return number == RSP   ? INSTRUCTION_LOSE_RSP
	       : number == RBP ? INSTRUCTION_LOSE_RBP
			       : INSTRUCTION_OTHER;
}

/* lea rsp, [rsp + n] or [rbp + n] */
static void read_lea(const struct instruction_parts *r, struct instruction *ret)
{
	bool memory = !is_register(r) && r->modrm >> 6 != 0;

	ret->kind = written(reg_of(r));
	if (reg_of(r) != RSP)
		return;
	ret->value = r->displacement;
	if (memory && (r->modrm & 7) == RSP && r->sib == 0x24 && !r->extended_rm)
		ret->kind = INSTRUCTION_MOVE_RSP;
	else if (memory && rm_of(r) == RBP)
		ret->kind = INSTRUCTION_RSP_IS_RBP;
}

static void read_move(const struct instruction_parts *r, struct instruction *ret)
{
	u32 to = r->op == 0x89 ? rm_of(r) : reg_of(r), from = r->op == 0x89 ? reg_of(r) : rm_of(r);

	if (!is_register(r) && r->op == 0x89)
		return;
	ret->kind = written(to);
	if (!is_register(r) || !r->wide)
		return;
	if (to == RBP && from == RSP)
		ret->kind = INSTRUCTION_RBP_IS_RSP;
	else if (to == RSP && from == RBP)
		ret->kind = INSTRUCTION_RSP_IS_RBP;
}

/* add, or, adc, sbb, and, sub, xor, cmp with a constant. */
static void read_arithmetic(const struct instruction_parts *r, struct instruction *ret)
{
	u32 operation = r->modrm >> 3 & 7;

	if (!is_register(r) || operation == 7)
		return;
	ret->kind = written(rm_of(r));
	if (rm_of(r) == RSP && (operation == 0 || operation == 5)) {
		ret->kind = INSTRUCTION_MOVE_RSP;
		ret->value = operation == 0 ? r->immediate : -r->immediate;
	}
}

/* The same on two registers: of those with 2 in their number the first is written. Even ones work
 * on bytes, which are parts of others. */
static void read_arithmetic_registers(const struct instruction_parts *r, struct instruction *ret)
{
	u32 operation = r->op >> 3 & 7, to = r->op & 2 ? reg_of(r) : rm_of(r);

	if (operation == 7 || !(r->op & 1) || (!is_register(r) && !(r->op & 2)))
		return;
	ret->kind = written(to);
	if (to == RBP && operation == 6 && is_register(r) && reg_of(r) == rm_of(r))
		ret->kind = INSTRUCTION_CLEAR_RBP;
}

static void read_ff(const struct instruction_parts *r, struct instruction *ret)
{
	switch (r->modrm >> 3 & 7) {
	case 0:
	case 1:
		if (is_register(r))
			ret->kind = written(rm_of(r));
		break;
	case 2:
	case 3:
		ret->kind = INSTRUCTION_CALL;
		break;
	case 4:
	case 5:
		ret->kind = INSTRUCTION_JUMP_FAR;
		break;
	case 6:
		ret->kind = INSTRUCTION_PUSH;
		break;
	default:
		break;
	}
}

static void read_0f(const struct instruction_parts *r, struct instruction *ret)
{
	if (r->op >= 0x80 && r->op <= 0x8f)
		ret->kind = INSTRUCTION_BRANCH;
	else if (r->op == 0x0b || r->op == 0xb9 || r->op == 0xff)
		ret->kind = INSTRUCTION_RETURN;
	else if (r->op == 0x1f)
		ret->kind = INSTRUCTION_PADDING;
	else if (r->op == 0xa0 || r->op == 0xa8)
		ret->kind = INSTRUCTION_PUSH;
	else if (r->op == 0xa1 || r->op == 0xa9)
		ret->kind = INSTRUCTION_POP;
	else if ((r->op & 0xf0) == 0x40 || r->op == 0xaf || (r->op & 0xf6) == 0xb6)
		/* Moved on a condition, multiplied, made wider. */
		ret->kind = written(reg_of(r));
}

/* Instructions whose effect does not depend on operands. */
static const u8 simple[256] = {
	[0x68] = INSTRUCTION_PUSH,    [0x6a] = INSTRUCTION_PUSH, /* a constant */
	[0x9c] = INSTRUCTION_PUSH,    [0x9d] = INSTRUCTION_POP,	 /* flags */
	[0x8f] = INSTRUCTION_POP,				 /* to memory */
	[0x90] = INSTRUCTION_PADDING, [0xcc] = INSTRUCTION_PADDING,
	[0xc2] = INSTRUCTION_RETURN,  [0xc3] = INSTRUCTION_RETURN,
	[0xca] = INSTRUCTION_RETURN,  [0xcb] = INSTRUCTION_RETURN,
	[0xcf] = INSTRUCTION_RETURN,  [0xf4] = INSTRUCTION_RETURN, /* iret, hlt */
	[0xc9] = INSTRUCTION_LEAVE,   [0xe8] = INSTRUCTION_CALL,
	[0xe9] = INSTRUCTION_JUMP,    [0xeb] = INSTRUCTION_JUMP,
	[0xe0] = INSTRUCTION_BRANCH,  [0xe1] = INSTRUCTION_BRANCH, /* loops, */
	[0xe2] = INSTRUCTION_BRANCH,  [0xe3] = INSTRUCTION_BRANCH, /* jrcxz */
};

/* Opcodes that hold the number of a register. */
static u32 register_in(const struct instruction_parts *r)
{
	return (r->op & 7) | (r->extended_rm ? 8 : 0);
}

static enum instruction_kind pushed(u32 number)
{
	return number == RBP ? INSTRUCTION_PUSH_RBP : INSTRUCTION_PUSH;
}

static enum instruction_kind popped(u32 number)
{
	return number == RSP   ? INSTRUCTION_LOSE_RSP
	       : number == RBP ? INSTRUCTION_POP_RBP
			       : INSTRUCTION_POP;
}

static void read_exchange(const struct instruction_parts *r, struct instruction *ret)
{
	ret->kind = written(reg_of(r));
	if (is_register(r) && ret->kind == INSTRUCTION_OTHER)
		ret->kind = written(rm_of(r));
}

static void read_with_operands(const struct instruction_parts *r, struct instruction *ret)
{
	switch (r->op) {
	case 0x63: /* made wider */
	case 0x69: /* multiplied */
	case 0x6b:
		ret->kind = written(reg_of(r));
		break;
	case 0xc1: /* shifts */
	case 0xd1:
	case 0xd3:
	case 0xc7: /* a constant */
		if (is_register(r))
			ret->kind = written(rm_of(r));
		break;
	case 0xf7: /* not, neg; the others test, or write elsewhere */
		if (is_register(r) && (r->modrm & 0x30) == 0x10)
			ret->kind = written(rm_of(r));
		break;
	case 0x81:
	case 0x83:
		read_arithmetic(r, ret);
		break;
	case 0x87:
		read_exchange(r, ret);
		break;
	case 0x89:
	case 0x8b:
		read_move(r, ret);
		break;
	case 0x8d:
		read_lea(r, ret);
		break;
	case 0xff:
		read_ff(r, ret);
		break;
	default:
		break;
	}
}

static void read_plain(const struct instruction_parts *r, struct instruction *ret)
{
	u8 op = r->op;

	ret->kind = simple[op];
	if (op < 0x40 && !(op & 4))
		read_arithmetic_registers(r, ret);
	else if ((op & 0xf8) == 0x50)
		ret->kind = pushed(register_in(r));
	else if ((op & 0xf8) == 0x58)
		ret->kind = popped(register_in(r));
	else if ((op & 0xf0) == 0x70)
		ret->kind = INSTRUCTION_BRANCH;
	else if ((op & 0xf8) == 0xb8)
		ret->kind = written(register_in(r));
	else if (!ret->kind)
		read_with_operands(r, ret);
}

void instruction_meaning(const struct instruction_parts *p, struct instruction *ret)
{
	if (p->vector)
		return;
	if (p->map == MAP_PLAIN)
		read_plain(p, ret);
	else if (p->map == MAP_0F)
		read_0f(p, ret);
}
