/*
 * Address ranges with a number each. Ranges may overlap: JIT compilers reuse memory, linkers fold
 * functions. address_ranges_flatten makes them disjoint and sorted, with higher priority taking
 * precedence, so that a lookup is one binary search.
 */
#pragma once

#include "base/err.h"
#include "base/vec.h"

struct address_range {
	uint64_t start, end; /* start < end */
	uint32_t value, priority;
};

struct address_ranges {
	struct address_range *v;
	size_t n, cap;
};

/* Adds a range, unless it is empty. Call flatten before the next lookup. */
enum err address_ranges_add(struct address_ranges *r, struct address_range range) MUST_CHECK;
enum err address_ranges_flatten(struct address_ranges *r) MUST_CHECK;
/* NULL if no range contains the address. */
const struct address_range *address_ranges_find(const struct address_ranges *r, uint64_t address);
void address_ranges_release(struct address_ranges *r);
