// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
/*
 * One step of the unwinder: from a frame and its rule to the calling frame. The same code runs in
 * the kernel, in the agent and in the tests. Define before including it:
 *
 *	unwind_read(context, address, &value)	8 bytes of the process's memory; false when they
 *						are not there
 *
 * and pass a context for it.
 */
#pragma once

#include "arch_x86_64.h"
#include "unwind_format.h"
#include "unwind_frame.h"

/* The address to look up: a return address belongs to the call before it. */
static inline __attribute__((always_inline)) u64 unwind_lookup_address(const struct unwind_frame *f)
{
	return f->leaf ? f->pc : f->pc - 1;
}

/* After a step: the stack pointer must rise, or the walk would not end. */
static inline __attribute__((always_inline)) int unwind_settle(struct unwind_frame *f, u64 cfa,
							       u64 ra, u64 bp, u32 leaf)
{
	if (cfa <= f->sp && !(f->leaf && cfa == f->sp))
		return UNWIND_LOOP;
	f->sp = cfa;
	f->pc = ra;
	f->bp = bp;
	f->leaf = leaf;
	return ra ? -1 : UNWIND_ROOT;
}

/* Applies a short rule. -1 = continue; otherwise how the walk ended. */
static inline __attribute__((always_inline)) int unwind_step_short(void *context,
								   struct unwind_frame *f, u32 rule)
{
	u64 cfa = (rule & UNWIND_CFA_RBP ? f->bp : f->sp) + ((u64)(rule >> 5 & 0x1ff) << 3);
	u64 saved = rule & 0x1f, ra = 0, bp = f->bp;

	if (!unwind_read(context, cfa - 8, &ra))
		return UNWIND_BAD_MEMORY;
	if (saved && !unwind_read(context, cfa - 8 * saved, &bp))
		return UNWIND_BAD_MEMORY;
	return unwind_settle(f, cfa, ra, bp, 0);
}

static inline __attribute__((always_inline)) int unwind_step_signal(void *context,
								    struct unwind_frame *f)
{
	u64 sp = 0, ra = 0, bp = 0;

	if (!unwind_read(context, f->sp + ARCH_SIGNAL_RSP, &sp) ||
	    !unwind_read(context, f->sp + ARCH_SIGNAL_RIP, &ra) ||
	    !unwind_read(context, f->sp + ARCH_SIGNAL_RBP, &bp))
		return UNWIND_BAD_MEMORY;
	/* A signal handler may run on another stack, above or below the interrupted one. */
	f->sp = sp;
	f->pc = ra;
	f->bp = bp;
	f->leaf = 1;
	return ra ? -1 : UNWIND_ROOT;
}

/*
 * A function that went on with another stack and left rbp on the one it came from, as those of Go's
 * runtime do: on the stack of the thread they work for a goroutine, whose stack may lie anywhere.
 * 0: it works for no goroutine, like Go's scheduler.
 */
static inline __attribute__((always_inline)) int unwind_step_switch(void *context,
								    struct unwind_frame *f)
{
	u64 ra = 0, bp = 0;

	if (!f->bp)
		return UNWIND_ROOT;
	if (!unwind_read(context, f->bp, &bp) || !unwind_read(context, f->bp + 8, &ra))
		return UNWIND_BAD_MEMORY;
	f->sp = f->bp + 16;
	f->pc = ra;
	f->bp = bp;
	f->leaf = 0;
	return ra ? -1 : UNWIND_ROOT;
}

/*
 * A rule of the long kind. `registers` are those of the first frame by DWARF number; after it only
 * rsp and rbp are known, so the others are used only while `first`.
 */
static inline __attribute__((always_inline)) int unwind_step_long(void *context,
								  struct unwind_frame *f,
								  const struct unwind_rule *r,
								  const u64 *registers, u32 first)
{
	u64 cfa, ra = 0, bp = f->bp;
	u32 number = r->cfa_register;

	if (r->kind == UNWIND_END)
		return UNWIND_ROOT;
	if (r->kind == UNWIND_SIGNAL)
		return unwind_step_signal(context, f);
	if (r->kind == UNWIND_SWITCH)
		return unwind_step_switch(context, f);
	if (r->kind == UNWIND_NONE)
		return UNWIND_NO_RULE;
	if (r->kind == UNWIND_PLT)
		cfa = f->sp + 8 + ((f->pc & 15) >= (u64)r->cfa_offset ? 8 : 0);
	else {
		if (number == ARCH_DWARF_RSP)
			cfa = f->sp;
		else if (number == ARCH_DWARF_RBP)
			cfa = f->bp;
		else if (first && number < ARCH_REGISTERS)
			cfa = registers[number];
		else
			return UNWIND_NO_RULE;
		cfa += (s64)r->cfa_offset;
		if (r->kind == UNWIND_DEREF) {
			if (!unwind_read(context, cfa, &cfa))
				return UNWIND_BAD_MEMORY;
			cfa += (s64)r->cfa_add;
		}
	}
	if (r->ra_saved == UNWIND_IN_REGISTER) {
		if (!first || (u16)r->ra_offset >= ARCH_REGISTERS)
			return UNWIND_NO_RULE;
		ra = registers[(u16)r->ra_offset & 15];
	} else if (!unwind_read(context,
				cfa + (r->ra_saved == UNWIND_SAME ? -8 : (s64)r->ra_offset), &ra)) {
		return UNWIND_BAD_MEMORY;
	}
	if (r->rbp_saved == UNWIND_AT_CFA) {
		if (!unwind_read(context, cfa + (s64)r->rbp_offset, &bp))
			return UNWIND_BAD_MEMORY;
	} else if (r->rbp_saved == UNWIND_AT_REGISTER) {
		if (!unwind_read(context, f->bp + (s64)r->rbp_offset, &bp))
			return UNWIND_BAD_MEMORY;
	}
	return unwind_settle(f, cfa, ra, bp, 0);
}

/* ---- other unwinders: unwinders.h ---- */

static inline __attribute__((always_inline)) int unwind_by_frame_pointer(void *context,
									 struct unwind_frame *f)
{
	return unwind_step_short(context, f, UNWIND_RULE_FRAME_POINTER);
}

#ifdef MORE_UNWINDERS_HEADER
#include MORE_UNWINDERS_HEADER
#endif
