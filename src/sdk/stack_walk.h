/*
 * A thread's own stack, walked where it stands: in a signal handler or inside malloc. Nothing is
 * allocated and no lock is taken; the tables come from the view that is published now (loaded.h).
 * Memory is read only inside the thread's own stack, which nobody unmaps while it runs, and only
 * after the kernel has said of its page that it can be (one cheap call for each page), so that no
 * stack, however broken, makes the program crash.
 */
#pragma once

#include "sdk/loaded.h"
#include "sdk/sample_slots.h"

/* Learns where stacks end; once, before the first walk. */
void stack_walk_prepare(void);
/* Called when a stack waits for the table of a module, in any context. */
void stack_walk_set_missed(void (*missed)(void));
/* Fills the frames of a sample from `registers` (by DWARF number), at most `depth`. With
 * `from_call` the first address is a return address. False when a module has no table yet and there
 * is no room for a copy: the stack is what could be guessed. */
bool stack_walk(struct taken_sample *s, const u64 registers[17], bool from_call, u32 depth);
/* Memory of a stack, copied. */
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

/* The same over a copy, in the background; returns the number of frames. */
u32 stack_copy_walk(const struct loaded_view *view, const struct stack_copy *copy,
		    const u64 registers[17], bool from_call, u64 *frames, u32 depth,
		    struct stack_end *ret_end);
/* Over a copy that came with a sample; makes the tables that it needs. */
u32 raw_stack_walk(struct loaded *l, const struct raw_stack *raw, u64 *frames, u32 depth);
