/*
 * Unwinds the calling thread's own stack, in a signal handler or inside malloc, without allocations
 * and locks, by the tables of the current view (loaded.h). Only memory of the thread's own stack is
 * read, and only after a system call per page has checked that it is readable, so that a broken
 * stack cannot crash the program.
 */
#pragma once

#include "sdk/loaded.h"
#include "sdk/sample_slots.h"

/* Initializes; call once, before the first walk. */
void stack_walk_prepare(void);
/* Called, in any context, when a stack needs the table of a module. */
void stack_walk_set_missed(void (*missed)(void));
/* Fills the frames of a sample from `registers` (by DWARF number), at most `depth`. With
 * `from_call` the first address is a return address. False if a module has no table yet and there
 * is no room for a copy: the stack is then a guess. */
bool stack_walk(struct taken_sample *s, const u64 registers[17], bool from_call, u32 depth);
/* A copy of stack memory. */
struct stack_copy {
	u64 start; /* address of bytes[0] */
	u32 size;
	const u8 *bytes;
};

/* How a walk ended, and the stack pointer of the last frame. */
struct stack_end {
	u8 why; /* enum unwind_end */
	u64 sp;
	u32 missed; /* the first module without a table yet, + 1 (loaded_need) */
};

/* The same for a copy, in the background thread; returns the number of frames. */
u32 stack_copy_walk(const struct loaded_view *view, const struct stack_copy *copy,
		    const u64 registers[17], bool from_call, u64 *frames, u32 depth,
		    struct stack_end *ret_end);
/* For the copy of a sample; builds the tables that it needs. */
u32 raw_stack_walk(struct loaded *l, const struct raw_stack *raw, u64 *frames, u32 depth);
