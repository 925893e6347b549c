// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
/*
 * Finds the rule for an address of a module. The same code runs inside and outside of the kernel.
 * Define before including it:
 *
 *	unwind_segment(index)		the memory of a segment, or NULL
 *	unwind_hide(x)			makes the compiler forget what it knows about x, so that the
 *					mask behind it stays in the program and the verifier sees it
 */
#pragma once

#include "unwind_format.h"

/* Loads at a byte offset that is forced into the segment. */
static inline __attribute__((always_inline)) u32 unwind_load32(const void *segment, u64 offset)
{
	unwind_hide(offset);
	offset &= UNWIND_SEGMENT_SIZE - 4;
	return *(const u32 *)((const char *)segment + offset);
}

static inline __attribute__((always_inline)) u32 unwind_load16(const void *segment, u64 offset)
{
	unwind_hide(offset);
	offset &= UNWIND_SEGMENT_SIZE - 2;
	return *(const u16 *)((const char *)segment + offset);
}

static inline __attribute__((always_inline)) u32 unwind_load8(const void *segment, u64 offset)
{
	unwind_hide(offset);
	offset &= UNWIND_SEGMENT_SIZE - 1;
	return *(const u8 *)((const char *)segment + offset);
}

/* The rule of a row of the block at `base`. */
static inline __attribute__((always_inline)) u32 unwind_row_rule(const void *segment, u64 base,
								 u32 row)
{
	u64 rows = base + UNWIND_BLOCK_HEAD;
	u64 rules = rows + 2 * (u64)unwind_load16(segment, base + 2 * UNWIND_SLOTS);
	u32 count = unwind_load16(segment, base + 2 * UNWIND_SLOTS + 2);
	u32 number = unwind_load16(segment, rows + 2 * (u64)row) & (UNWIND_NUMBERS - 1);

	if (count > UNWIND_NUMBERS)
		number |= unwind_load8(segment, rules + 2 * (u64)count + row) << UNWIND_NUMBER_BITS;
	return unwind_load16(segment, rules + 2 * (u64)number);
}

/* The rule for `address` in the module whose page table begins at unit `pages`. */
static inline __attribute__((always_inline)) u32 unwind_find_rule(u32 pages, u32 page_count,
								  u64 address)
{
	u64 page = address >> UNWIND_PAGE_SHIFT;
	u32 low = address & (UNWIND_PAGE_SIZE - 1), slot = low >> UNWIND_SLOT_SHIFT;
	u32 block, from, to, wanted;
	const void *segment;
	u64 base, rows;

	if (page >= page_count)
		return UNWIND_RULE_NONE;
	segment = unwind_segment(pages / UNWIND_UNITS);
	if (!segment)
		return UNWIND_RULE_NONE;
	block = unwind_load32(segment, (u64)(pages % UNWIND_UNITS) * UNWIND_UNIT + page * 4);
	if (!block)
		return UNWIND_RULE_NONE;
	segment = unwind_segment(block / UNWIND_UNITS);
	if (!segment)
		return UNWIND_RULE_NONE;
	base = (u64)(block % UNWIND_UNITS) * UNWIND_UNIT;
	rows = base + UNWIND_BLOCK_HEAD;
	from = unwind_load16(segment, base + 2 * slot) - 1;
	to = unwind_load16(segment, base + 2 * slot + 2) - 1;
	/*
	 * The result is the last of rows[from] … rows[to] whose address is not above the searched
	 * one; rows[from] always qualifies. The others are in this slot of 512 bytes.
	 */
	wanted = (low & (UNWIND_SLOT_SIZE - 1)) << UNWIND_NUMBER_BITS | (UNWIND_NUMBERS - 1);
	for (int step = 0; step < 10 && from < to; step++) {
		u32 middle = (from + to + 1) >> 1;

		if (unwind_load16(segment, rows + 2 * (u64)middle) <= wanted)
			from = middle;
		else
			to = middle - 1;
	}
	return unwind_row_rule(segment, base, from);
}
