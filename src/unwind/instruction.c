#include "unwind/instruction_parts.h"

#include <string.h>

/* No instruction is longer. */
#define LENGTH_MAX 15

/* Bytes after an opcode. */
enum {
	M = 1,	   /* a ModRM byte, and the bytes that it implies */
	B = 2,	   /* a byte */
	W = 4,	   /* two bytes */
	Z = 8,	   /* four bytes, or two with a prefix */
	R8 = 16,   /* where to go on: a byte */
	R32 = 32,  /* or four */
	LONG = 64, /* as long as the operand: mov of a constant, or to a place by its address */
	BAD = 128, /* no instruction of 64-bit code */
	PRE = 129, /* a prefix, or the first byte of several */
	TEST = 130 /* f6, f7: some with operands only, some with a constant */
};

/* The operations of arithmetic are eight times the same eight opcodes. */
#define ARITHMETIC M, M, M, M, B, Z

/* clang-format off */
static const u8 plain[256] = {
	/* 00 */ ARITHMETIC, BAD, BAD, ARITHMETIC, BAD, PRE,
	/* 10 */ ARITHMETIC, BAD, BAD, ARITHMETIC, BAD, BAD,
	/* 20 */ ARITHMETIC, PRE, BAD, ARITHMETIC, PRE, BAD,
	/* 30 */ ARITHMETIC, PRE, BAD, ARITHMETIC, PRE, BAD,
	/* 40 */ PRE, PRE, PRE, PRE, PRE, PRE, PRE, PRE, PRE, PRE, PRE, PRE, PRE, PRE, PRE, PRE,
	/* 50 */ 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
	/* 60 */ BAD, BAD, PRE, M, PRE, PRE, PRE, PRE, Z, M | Z, B, M | B, 0, 0, 0, 0,
	/* 70 */ R8, R8, R8, R8, R8, R8, R8, R8, R8, R8, R8, R8, R8, R8, R8, R8,
	/* 80 */ M | B, M | Z, BAD, M | B, M, M, M, M, M, M, M, M, M, M, M, PRE,
	/* 90 */ 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, BAD, 0, 0, 0, 0, 0,
	/* a0 */ LONG, LONG, LONG, LONG, 0, 0, 0, 0, B, Z, 0, 0, 0, 0, 0, 0,
	/* b0 */ B, B, B, B, B, B, B, B, LONG, LONG, LONG, LONG, LONG, LONG, LONG, LONG,
	/* c0 */ M | B, M | B, W, 0, PRE, PRE, M | B, M | Z, W | B, 0, W, 0, 0, B, BAD, 0,
	/* d0 */ M, M, M, M, BAD, BAD, BAD, 0, M, M, M, M, M, M, M, M,
	/* e0 */ R8, R8, R8, R8, B, B, B, B, R32, R32, BAD, R8, 0, 0, 0, 0,
	/* f0 */ PRE, 0, PRE, PRE, 0, 0, TEST, TEST, 0, 0, 0, 0, 0, 0, M, M,
};
/* clang-format on */

/* After 0f. */
static u32 after_0f(u8 op)
{
	if (op >= 0x80 && op <= 0x8f)
		return R32;
	if ((op >= 0x05 && op <= 0x09) || op == 0x0b || op == 0x0e || (op >= 0x30 && op <= 0x37) ||
	    op == 0x77 || (op >= 0xa0 && op <= 0xa2) || (op >= 0xa8 && op <= 0xaa) ||
	    (op >= 0xc8 && op <= 0xcf))
		return 0;
	if (op == 0x04 || op == 0x0a || op == 0x0c)
		return BAD;
	if (op == 0x0f || (op >= 0x70 && op <= 0x73) || op == 0xa4 || op == 0xac || op == 0xba ||
	    op == 0xc2 || (op >= 0xc4 && op <= 0xc6))
		return M | B;
	return M;
}

static u8 next(struct instruction_parts *p)
{
	if (p->at == p->end) {
		p->bad = true;
		return 0;
	}
	return *p->at++;
}

/* A signed number of so many bytes. */
static s64 number(struct instruction_parts *p, u32 size)
{
	u64 value = 0;

	if ((size_t)(p->end - p->at) < size) {
		p->bad = true;
		return 0;
	}
	memcpy(&value, p->at, size);
	p->at += size;
	if (size == 1)
		return (int8_t)value;
	return size == 2 ? (s16)value : size == 4 ? (s32)value : (s64)value;
}

/* ------------------------------------------------------------------ opcode */

/* Instructions on vectors: a map of opcodes, the opcode, always operands; some with a byte more. */
static void read_vector(struct instruction_parts *p, u32 map)
{
	p->vector = true;
	p->op = next(p);
	p->map = (u8)(map <= MAP_0F3A ? map : MAP_OTHER);
	p->form = map == 3 ? M | B : M;
	if (map == 1 && p->op == 0x77)
		p->form = 0;
	else if (map == 1 && after_0f(p->op) == (M | B))
		p->form = M | B;
}

static void read_vex(struct instruction_parts *p, u8 first)
{
	u32 map = first == 0xc4 ? next(p) & 0x1f : 1;

	next(p);
	read_vector(p, map);
}

static void read_evex(struct instruction_parts *p)
{
	u32 map = next(p) & 7;

	next(p);
	next(p);
	read_vector(p, map);
}

/* AMD's own vectors, where pop to memory would have another register's number. */
static void read_xop(struct instruction_parts *p)
{
	u32 map = next(p) & 0x1f;

	next(p);
	p->vector = true;
	p->op = next(p);
	p->map = MAP_OTHER;
	p->form = map == 8 ? M | B : map == 10 ? M | Z : M;
}

static void read_0f(struct instruction_parts *p)
{
	p->map = MAP_0F;
	p->op = next(p);
	p->form = after_0f(p->op);
	if (p->op == 0x38 || p->op == 0x3a) {
		p->map = p->op == 0x38 ? MAP_0F38 : MAP_0F3A;
		p->form = p->op == 0x38 ? M : M | B;
		p->op = next(p);
	}
}

/* After all prefixes: one more byte to decode. */
static void read_first_of_several(struct instruction_parts *p, u8 byte)
{
	if (byte == 0x0f)
		read_0f(p);
	else if (byte == 0xc4 || byte == 0xc5)
		read_vex(p, byte);
	else if (byte == 0x62)
		read_evex(p);
	else if (byte == 0x8f && p->at < p->end && (*p->at & 0x1f) >= 8)
		read_xop(p);
	else
		p->form = byte == 0x8f ? M : BAD;
}

static bool is_legacy_prefix(u8 byte)
{
	return plain[byte] == PRE && byte != 0x0f && byte != 0x62 && (byte & 0xf0) != 0x40 &&
	       byte != 0x8f && byte != 0xc4 && byte != 0xc5;
}

static void read_opcode(struct instruction_parts *p)
{
	u8 byte = next(p);

	while (is_legacy_prefix(byte)) {
		p->narrow |= byte == 0x66;
		p->short_address |= byte == 0x67;
		byte = next(p);
	}
	if ((byte & 0xf0) == 0x40) {
		p->wide = byte & 8;
		p->extended_reg = byte & 4;
		p->extended_rm = byte & 1;
		byte = next(p);
	}
	p->op = byte;
	p->form = plain[byte];
	if (p->form == PRE)
		read_first_of_several(p, byte);
}

/* ------------------------------------------------------------------ operands */

static void read_operands(struct instruction_parts *p)
{
	u32 mode, base;

	p->modrm = next(p);
	mode = p->modrm >> 6;
	base = p->modrm & 7;
	if (mode == 3)
		return;
	if (base == 4) {
		p->sib = next(p);
		base = p->sib & 7;
	}
	if (mode == 1)
		p->displacement = (s32)number(p, 1);
	else if (mode == 2 || base == 5)
		p->displacement = (s32)number(p, 4);
}

static void read_constant(struct instruction_parts *p)
{
	u32 whole = p->narrow && !p->wide ? 2 : 4;

	if (p->form & W)
		p->immediate = number(p, 2);
	if (p->form & (B | R8))
		p->immediate = number(p, 1);
	if (p->form & Z)
		p->immediate = number(p, whole);
	if (p->form & R32)
		p->immediate = number(p, 4);
	if (p->form & LONG)
		p->immediate = number(p, p->op < 0xb0 ? (p->short_address ? 4 : 8)
					 : p->wide    ? 8
						      : whole);
}

bool instruction_read(struct str code, u64 address, struct instruction *ret)
{
	const u8 *start = (const u8 *)code.p;
	struct instruction_parts p = {.at = start,
				      .end = start + (code.n < LENGTH_MAX ? code.n : LENGTH_MAX)};

	*ret = (struct instruction){0};
	read_opcode(&p);
	if (p.form == BAD)
		return false;
	if (p.form == TEST) {
		read_operands(&p);
		p.form = p.modrm & 0x30 ? 0 : p.op == 0xf6 ? B : Z;
	} else if (p.form & M) {
		read_operands(&p);
	}
	if (p.form & ~(u32)M)
		read_constant(&p);
	if (p.bad)
		return false;
	ret->length = (u32)(p.at - start);
	if (p.form & (R8 | R32))
		ret->target = address + ret->length + (u64)p.immediate;
	instruction_meaning(&p, ret);
	return true;
}
