/*
 * Private to src/model: arithmetic on sample values, and values summed per distinct stack, as
 * needed by tables, trees and diffs.
 */
#pragma once

#include "model/tree.h"

/* Saturating sum. */
static inline int64_t value_add(int64_t a, int64_t b)
{
	int64_t sum;

	if (__builtin_expect(__builtin_add_overflow(a, b, &sum), 0))
		return b > 0 ? INT64_MAX : INT64_MIN;
	return sum;
}

static inline int64_t value_negate(int64_t a)
{
	return a == INT64_MIN ? INT64_MAX : -a;
}

static inline uint64_t value_magnitude(int64_t a)
{
	return a < 0 ? -(uint64_t)a : (uint64_t)a;
}

/* Nearest integer, clamped to int64. */
int64_t value_round(double x);

/* v[stack * columns + column]: the sum over the rows of a column's profile with that stack. */
struct stack_sums {
	const struct dict *dict;
	size_t stacks;
	uint32_t columns;
	int64_t *v;
	int64_t *totals; /* per column; over all rows, also those without a stack */
};

/* ERR_BAD_ARGUMENT if columns have different dictionaries or a missing type. */
enum err stack_sums_build(const struct tree_column *columns, uint32_t count,
			  struct stack_sums *ret) MUST_CHECK;
void stack_sums_release(struct stack_sums *s);

struct frame_keys;
/* The keys of frames in stacks with a value; others have none.
 */
enum err frame_keys_of_sums(const struct stack_sums *sums, bool lines,
			    struct frame_keys *ret) MUST_CHECK;

static inline bool stack_sums_any(const struct stack_sums *s, size_t stack)
{
	int64_t any = 0;

	for (uint32_t c = 0; c < s->columns; c++)
		any |= s->v[stack * s->columns + c];
	return any != 0;
}
