/*
 * Private to src/model: shared by operations that write a profile.
 */
#pragma once

#include "base/map.h"
#include "model/profile.h"

/*
 * Finds rows by (group, stack, labels, link, time). `group` distinguishes rows that are otherwise
 * equal, by series of a merge; NULL if there is one group.
 */
struct row_index {
	struct map map;
	VEC(uint32_t) group;
	/*
	 * Set before the first row if most stacks of the dictionary are expected: rows of group 0
	 * with only a stack are then found by the stack's id. Takes 4 bytes per stack of the
	 * dictionary.
	 */
	bool dense;
	VEC(uint32_t) plain; /* row + 1 by stack, 0 = none */
};

/* The row of group 0 with only this stack, counted from 1; 0 = none. */
static inline uint32_t row_index_plain(const struct row_index *index, uint32_t stack)
{
	return stack < index->plain.n ? index->plain.v[stack] : 0;
}

void row_index_release(struct row_index *index);
/* Adds the values to the row that is equal to `row`, or appends it. */
enum err row_index_add(struct row_index *index, struct profile *p, const struct row *row,
		       uint32_t group, const int64_t *values) MUST_CHECK;
/* Adds the existing rows of a profile to the index. */
enum err row_index_fill(struct row_index *index, const struct profile *p,
			uint32_t group) MUST_CHECK;

/* Everything but the rows. `dst` is initialised over the same dictionary, without types. */
enum err profile_copy_head(const struct profile *src, struct profile *dst) MUST_CHECK;
/* Adds a column of zeros to a profile that has rows. */
enum err profile_add_column(struct profile *p, struct value_type type) MUST_CHECK;
/* Removes a column and its type. */
void profile_drop_column(struct profile *p, uint32_t column);
/* Removes rows whose values are all zero. */
void profile_drop_zero(struct profile *p);
