/*
 * Values with decimals in rows of whole numbers: each row gets the whole part, and what is left
 * over is handed out at the end, so that the sum of all rows and those of each stack stay what they
 * were.
 */
#pragma once

#include "format/format.h"

struct fractions {
	VEC(double) rest; /* by row, from 0 to 1 */
	bool any;
};

void fractions_release(struct fractions *f);
/* Takes what a value has behind its whole part; `ret_carry` is what the row gets at once. */
enum err fractions_add(struct fractions *f, size_t row, double rest, int64_t *ret_carry) MUST_CHECK;
/* Hands out the rest of one column. Sums of a stack, and of all, are at most 1/2 from the truth. */
enum err fractions_settle(struct fractions *f, struct profile *p, uint32_t column,
			  struct notes *notes) MUST_CHECK;
