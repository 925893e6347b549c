/*
 * The entries of .eh_frame and .debug_frame: a CIE says what is common to functions, an FDE covers
 * a range of code and holds a small program that says, address by address, where the caller's
 * registers are.
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
	bool signal;	/* 'S': a frame of the kernel's making */
	struct str program;
};

struct frame_section {
	struct elf_part part;
	bool debug;	      /* .debug_frame: other ids, plain addresses */
	u64 cie_at;	      /* + 1: where the one was that was read last; 0 = none */
	struct frame_cie cie; /* that one */
};

struct frame_fde {
	u64 start, size;
	const struct frame_cie *cie; /* the section's: until another entry is read */
	struct str program;
};

/*
 * The entry at `offset`. `ret_next` is where the next one begins, 0 behind the last. `ret_is_fde`
 * is false for CIEs and for what cannot be read; a broken entry is passed over.
 */
void frame_entry(struct frame_section *s, u64 offset, struct frame_fde *ret, bool *ret_is_fde,
		 u64 *ret_next);

/* Runs an FDE's program; calls back with the rule that holds from an address on. */
struct unwind_rules;
void frame_rows(const struct frame_fde *fde, struct unwind_rules *rules, void *context,
		void (*row)(void *context, u64 address, u32 rule));
