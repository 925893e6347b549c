/*
 * Sampled allocations that are still there. A fixed table without locks: every free() asks it, so
 * that the answer "not one of ours" must cost next to nothing.
 *
 *	counts[line]	objects in a line of the table: 0 ends the question
 *	lines		4 addresses each
 *
 * An object that finds its line full is not watched, and counted.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>

#include "unwind/unwind_format.h"

#define LIVE_LINES    16384u
#define LIVE_PER_LINE 4u

struct live_object {
	s64 count, bytes; /* what it stands for */
	u64 serial;
	atomic_uint stack; /* + 1, once the background knows it; 0 = not yet */
};

struct live_table {
	_Atomic(u8) counts[LIVE_LINES];
	_Atomic(u64) addresses[LIVE_LINES][LIVE_PER_LINE];
	struct live_object objects[LIVE_LINES][LIVE_PER_LINE];
};

extern struct live_table *live_table; /* NULL = nothing is watched */

static inline u32 live_line(u64 address)
{
	return (u32)((address >> 4) * 0x9e3779b97f4a7c15u >> 50);
}

_Static_assert(LIVE_LINES == 1u << 14, "live_line takes as many bits");

/* Whether a look is needed at all. */
static inline bool live_maybe(const struct live_table *t, u64 address)
{
	return atomic_load_explicit(&t->counts[live_line(address)], memory_order_relaxed) != 0;
}

bool live_open(void);
/* Watches an object; returns its serial number, 0 when there is no room. */
u64 live_add(u64 address, s64 count, s64 bytes);
/* It is about to be freed. */
void live_remove(u64 address);
/* The background tells where it was made. */
void live_set_stack(u64 address, u64 serial, u32 stack);
/* Calls back for all whose stack is known. */
void live_each(void (*each)(void *context, u32 stack, s64 count, s64 bytes), void *context);
u64 live_lost(void);
/* Forgets all of them. */
void live_forget(void);
