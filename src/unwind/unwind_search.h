// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
/*
 * From an address of a module to its rule. The same code runs in the kernel and outside. Who
 * includes it defines before:
 *
 *	unwind_segment(index)		the memory of a segment, NULL when there is none
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
	from = unwind_load16(segment, base + 2 * slot);
	to = unwind_load16(segment, base + 2 * slot + 2);
	/*
	 * The answer is among rows[from] … rows[to]: the last one whose address is not above ours.
	 * rows[from] always is not. 512 bytes have at most 512 rows and the one before them.
	 */
	wanted = low << 16 | 0xffff;
	for (int step = 0; step < 10 && from < to; step++) {
		u32 middle = (from + to + 1) >> 1;

		if (unwind_load32(segment, rows + 4 * (u64)middle) <= wanted)
			from = middle;
		else
			to = middle - 1;
	}
	return unwind_load32(segment, rows + 4 * (u64)from) & 0xffff;
}
