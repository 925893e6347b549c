/*
 * The entries of .eh_frame and .debug_frame: a CIE has what several functions share; an FDE covers
 * a range of code and contains a small program that describes, address by address, where the
 * caller's registers are.
 */
#pragma once

#include "unwind/cursor.h"
#include "unwind/elf_view.h"

struct frame_cie {
	u64 code_align;
	s64 data_align;
	u64 ra_register;
	u8 pointer_encoding;
	bool augmented; /* FDEs carry augmentation data */
	bool signal;	/* 'S': a signal frame */
	struct str program;
};

struct frame_section {
	struct elf_part part;
	bool debug;	      /* .debug_frame: other ids, plain addresses */
	u64 cie_at;	      /* offset of the last CIE, + 1; 0 = none */
	struct frame_cie cie; /* the last CIE */
};

struct frame_fde {
	u64 start, size;
	const struct frame_cie *cie; /* valid until another entry is read */
	struct str program;
};

/*
 * The entry at `offset`. `ret_next` is the offset of the next one, 0 after the last. `ret_is_fde`
 * is false for CIEs and unreadable entries; a broken entry is skipped.
 */
void frame_entry(struct frame_section *s, u64 offset, struct frame_fde *ret, bool *ret_is_fde,
		 u64 *ret_next);

/* Runs an FDE's program and calls `each` with the rule valid from an address on. */
struct unwind_rules;
void frame_rows(const struct frame_fde *fde, struct unwind_rules *rules, void *context,
		void (*row)(void *context, u64 address, u32 rule));
