/*
 * Sums of samples: rows of (kind, stack, context). Background thread only.
 *
 * A stack is a sequence of places, leaf first; a place is a module's number + 1 and an address in
 * that module, or 0 and an address of the process. So a stack stays valid when its module is
 * unloaded. A row may have a subject besides its stack: for waits the place of the lock.
 */
#pragma once

#include "base/map.h"
#include "base/vec.h"
#include "sdk/sample_slots.h"
#include "sdk/span_context.h"

#define PLACE_MODULE_SHIFT 48
#define PLACE_ADDRESS	   ((1ull << PLACE_MODULE_SHIFT) - 1)
/* Pseudo-places for time without samples. */
#define PLACE_NOT_SAMPLED  (~0ull)
#define PLACE_NO_PROCESSOR (~1ull)

/* Limits far above what programs need. */
#define TALLY_STACKS_MAX 262144u

struct tally_stack {
	u64 hash;
	u32 at, n; /* in places */
};

struct tally_row {
	u64 hash;
	u32 stack, context;
	u8 kind;
	u64 about;
	s64 count, value;
};

struct tally {
	u32 max_rows;
	VEC(u64) places;
	VEC(struct tally_stack) stacks;
	VEC(struct span_context) contexts;
	u32 last_context; /* last result, often also the next one */
	VEC(struct tally_row) rows;
	struct map stack_index, context_index, row_index;
	u64 lost; /* samples lost for lack of room or memory */
};

void tally_init(struct tally *t, u32 max_rows);
void tally_release(struct tally *t);
/* A stack's number, valid until tally_clear_stacks(). */
enum err tally_stack(struct tally *t, const u64 *places, u32 n, u32 *ret) MUST_CHECK;
enum err tally_context(struct tally *t, const struct span_context *context, u32 *ret) MUST_CHECK;
/* Adds to a row; counted as lost if there is no room. */
void tally_add(struct tally *t, u8 kind, u32 stack, u32 context, s64 count, s64 value);
/* The same for a row with a subject. If it gets full, all addresses outside of modules are treated
 * as one subject. */
void tally_add_about(struct tally *t, u8 kind, u32 stack, u32 context, u64 about, s64 count,
		     s64 value);
/* Begins a window: removes rows and contexts, keeps stacks. */
void tally_clear(struct tally *t);
void tally_clear_stacks(struct tally *t);
/* Adds the rows of a kind to those of another. */
enum err tally_copy(struct tally *to, const struct tally *from, u8 kind) MUST_CHECK;
