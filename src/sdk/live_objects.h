/*
 * Sampled allocations that are not freed yet. A fixed lock-free table: every free() looks up its
 * address, so a miss must cost almost nothing.
 *
 *	counts[line]	objects in a line of the table: 0 ends the lookup
 *	lines		4 addresses each
 *
 * An object whose line is full is not tracked, but counted.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>

#include "unwind/unwind_format.h"

#define LIVE_LINES    16384u
#define LIVE_PER_LINE 4u

struct live_object {
	s64 count, bytes; /* its weight */
	u64 serial;
	atomic_uint stack; /* stack + 1, set by the background thread; 0 = not yet */
};

struct live_table {
	_Atomic(u8) counts[LIVE_LINES];
	_Atomic(u64) addresses[LIVE_LINES][LIVE_PER_LINE];
	struct live_object objects[LIVE_LINES][LIVE_PER_LINE];
};

extern struct live_table *live_table; /* NULL = nothing is tracked */

static inline u32 live_line(u64 address)
{
	return (u32)((address >> 4) * 0x9e3779b97f4a7c15u >> 50);
}

_Static_assert(LIVE_LINES == 1u << 14, "live_line takes as many bits");

/* Whether a lookup is needed. */
static inline bool live_maybe(const struct live_table *t, u64 address)
{
	return atomic_load_explicit(&t->counts[live_line(address)], memory_order_relaxed) != 0;
}

bool live_open(void);
/* Tracks an object; returns its serial number, 0 if there is no room. */
u64 live_add(u64 address, s64 count, s64 bytes);
/* Call before it is freed. */
void live_remove(u64 address);
/* Sets its stack; background thread. */
void live_set_stack(u64 address, u64 serial, u32 stack);
/* Calls `each` for all objects with a stack. */
void live_each(void (*each)(void *context, u32 stack, s64 count, s64 bytes), void *context);
u64 live_lost(void);
/* Drops all objects. */
void live_forget(void);
