/*
 * What was sampled, counted: rows of (kind, stack, context) with their sums. The background thread
 * alone uses it.
 *
 * A stack is a sequence of places, leaf first; a place is a module's number + 1 and an address in
 * that module, or 0 and an address of the process. So a stack stays true when its module is closed.
 * What a row is about besides its stack is a number: the place of the lock for waits.
 */
#pragma once

#include "base/map.h"
#include "base/vec.h"
#include "sdk/sample_slots.h"
#include "sdk/span_context.h"

#define PLACE_MODULE_SHIFT 48
#define PLACE_ADDRESS	   ((1ull << PLACE_MODULE_SHIFT) - 1)
/* Not a place: what stands for time that no sample was taken in. */
#define PLACE_NOT_SAMPLED  (~0ull)
#define PLACE_NO_PROCESSOR (~1ull)

/* Far above what programs have; not for ever more. */
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
	u32 last_context; /* asked for last: most often the next one too */
	VEC(struct tally_row) rows;
	struct map stack_index, context_index, row_index;
	u64 lost; /* no room or no memory */
};

void tally_init(struct tally *t, u32 max_rows);
void tally_release(struct tally *t);
/* A stack's number; stays until tally_clear_stacks(). */
enum err tally_stack(struct tally *t, const u64 *places, u32 n, u32 *ret) MUST_CHECK;
enum err tally_context(struct tally *t, const struct span_context *context, u32 *ret) MUST_CHECK;
/* Adds to a row; without room it is counted as lost. */
void tally_add(struct tally *t, u8 kind, u32 stack, u32 context, s64 count, s64 value);
/* The same for a row that is about something. When it becomes full addresses outside of modules,
 * which may be any number, count as one. */
void tally_add_about(struct tally *t, u8 kind, u32 stack, u32 context, u64 about, s64 count,
		     s64 value);
/* A new window: rows and contexts go, stacks stay. */
void tally_clear(struct tally *t);
void tally_clear_stacks(struct tally *t);
/* The rows of a kind, added to those of another. */
enum err tally_copy(struct tally *to, const struct tally *from, u8 kind) MUST_CHECK;
