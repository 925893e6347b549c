// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
/*
 * The memory layout of unwind tables. Shared by BPF programs, agent and tests; does not need libc.
 *
 * Addresses are the module's own (ELF virtual addresses). Code is cut into pages of 64 KiB. Per
 * module there is a page table, one u32 per page from address 0: the position of the page's block,
 * in units of 8 bytes from the start of table memory, or 0 if there is none.
 *
 *	block:	u16 first[129]		how many rows begin before each 512 bytes (a slot); row 0
 *					always counts; the last one is the number of rows
 *		u16 count of rules
 *		u16 rows[]		sorted; address in its slot << 7 | low bits of a number
 *		u16 rules[]		each rule of the page once
 *		u8 high[]		a byte for each row, the other bits of its number; only in
 *					blocks with more than 128 rules
 *
 * Row 0 is at the start of the page and has the last rule of the previous page, so that a search
 * never leaves its page. A page of C++ has about 40 distinct rules, so that a row takes two bytes.
 *
 *	rule, bit 15 clear: CFA = (bit 14 ? rbp : rsp) + 8 * bits 13-5; the return address lies at
 *	CFA - 8; rbp lies at CFA - 8 * bits 4-0, or is unchanged when they are 0.
 *	rule, bits 15 and 14 set: bits 6-0 are the number of another unwinder (unwinders.h).
 *	rule, only bit 15 set: bits 12-0 are the number of a struct unwind_rule.
 *
 * Over 98 rows of 100 in real programs are of the first kind.
 */
#pragma once

#ifndef __VESTAL_BPF__
#include <stdint.h>
typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int16_t s16;
typedef int32_t s32;
typedef int64_t s64;
#endif

#define UNWIND_PAGE_SHIFT  16
#define UNWIND_PAGE_SIZE   (1u << UNWIND_PAGE_SHIFT)
#define UNWIND_SLOT_SHIFT  9
#define UNWIND_SLOT_SIZE   (1u << UNWIND_SLOT_SHIFT)
#define UNWIND_SLOTS	   (UNWIND_PAGE_SIZE >> UNWIND_SLOT_SHIFT)
/* Bytes before the rows of a block. */
#define UNWIND_BLOCK_HEAD  (2 * (UNWIND_SLOTS + 2))
#define UNWIND_NUMBER_BITS 7
#define UNWIND_NUMBERS	   (1u << UNWIND_NUMBER_BITS)
/* Maximum number of rows per page; real pages have fewer than 5,000. */
#define UNWIND_BLOCK_ROWS  16384u

/* Table memory is cut into segments, each a kernel array of its own; a block or a page table
 * or the mappings of a process never cross from one to the next. */
#define UNWIND_SEGMENT_SHIFT 20
#define UNWIND_SEGMENT_SIZE  (1u << UNWIND_SEGMENT_SHIFT)
#define UNWIND_UNIT	     8u
#define UNWIND_UNITS	     (UNWIND_SEGMENT_SIZE / UNWIND_UNIT)

#define UNWIND_ESCAPE	 0x8000u
#define UNWIND_RULES_MAX 8192u
#define UNWIND_OTHER	 0x4000u
#define UNWIND_OTHER_MAX 128u
#define UNWIND_CFA_RBP	 0x4000u
#define UNWIND_CFA_MAX	 (0x1ffu * 8)
#define UNWIND_SAVED_MAX (0x1fu * 8)

/* A function that keeps rbp: CFA = rbp + 16, the caller's rbp below the return address. */
#define UNWIND_RULE_FRAME_POINTER (UNWIND_CFA_RBP | (2u << 5) | 2u)
/* At the first instruction of any function. */
#define UNWIND_RULE_ENTRY	  ((1u << 5) | 0u)

/* The first entries of the table of rules. */
#define UNWIND_RULE_NONE   (UNWIND_ESCAPE | 0u) /* no unwind information */
#define UNWIND_RULE_END	   (UNWIND_ESCAPE | 1u) /* no caller: the root */
#define UNWIND_RULE_SIGNAL (UNWIND_ESCAPE | 2u) /* the kernel's signal frame */
#define UNWIND_RULE_SWITCH (UNWIND_ESCAPE | 3u) /* the caller is on another stack */

/* Handled by the n-th unwinder. */
#define UNWIND_RULE_OTHER(n) (UNWIND_ESCAPE | UNWIND_OTHER | (n))

enum unwind_kind {
	UNWIND_NONE,
	UNWIND_END,
	UNWIND_SIGNAL,
	UNWIND_SWITCH,
	UNWIND_REGISTER, /* CFA = register + cfa_offset */
	UNWIND_DEREF,	 /* CFA = memory at (register + cfa_offset) + cfa_add */
	UNWIND_PLT,	 /* CFA = rsp + 8, or rsp + 16 after byte `cfa_offset` of a 16-byte entry */
};

enum unwind_saved {
	UNWIND_SAME,	    /* unchanged */
	UNWIND_AT_CFA,	    /* in memory at CFA + offset */
	UNWIND_AT_REGISTER, /* in memory at (rbp + offset) */
	UNWIND_IN_REGISTER, /* in the register itself: the first frame only */
};

struct unwind_rule {
	u8 kind;	 /* enum unwind_kind */
	u8 cfa_register; /* DWARF number */
	u8 rbp_saved;	 /* enum unwind_saved */
	u8 ra_saved;	 /* enum unwind_saved; UNWIND_SAME = at CFA - 8 */
	s32 cfa_offset;
	s16 cfa_add;
	s16 rbp_offset;
	s16 ra_offset; /* or the DWARF number, UNWIND_IN_REGISTER */
	s16 unused;
};

/*
 * A mapping of a process as the unwinder needs it, sorted by start: `pages` is the unit of the
 * module's page table, which has `page_count` entries.
 */
struct unwind_mapping {
	u64 start;  /* address in the process */
	u64 bias;   /* address in the process - address in the module */
	u32 length; /* in UNWIND_LENGTH_UNIT */
	u32 pages;
	u32 page_count : 24;
	u32 unwinder : 7; /* enum unwinder (unwinders.h) used instead of a table */
	u32 unready : 1;  /* the table is being built: send the stack raw */
	u32 table;	  /* unique number of the table */
};

#define UNWIND_LENGTH_UNIT 4096ull

static inline int unwind_mapping_holds(const struct unwind_mapping *m, u64 address)
{
	return address - m->start < m->length * UNWIND_LENGTH_UNIT;
}

/* How a walk ends. */
enum unwind_end {
	UNWIND_ROOT,	   /* complete */
	UNWIND_CUT,	   /* too many frames */
	UNWIND_UNMAPPED,   /* an address in no known mapping */
	UNWIND_NO_TABLE,   /* a mapping whose table is not available yet */
	UNWIND_NO_RULE,	   /* no unwind information for this address */
	UNWIND_BAD_MEMORY, /* the stack could not be read */
	UNWIND_LOOP,	   /* the stack pointer did not increase */
	UNWIND_END_COUNT
};
