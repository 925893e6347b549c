/*
 * Ranges of addresses, each with a number. Sources overlap: code is compiled again where other code
 * was, linkers fold functions. address_ranges_flatten leaves disjoint ranges in order, in which the
 * one of higher priority has won every address, so that a look-up is one binary search.
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

/* Adds a range; one that is empty is left out. Asked for again only after flatten. */
enum err address_ranges_add(struct address_ranges *r, struct address_range range) MUST_CHECK;
enum err address_ranges_flatten(struct address_ranges *r) MUST_CHECK;
/* NULL when no range holds the address. */
const struct address_range *address_ranges_find(const struct address_ranges *r, uint64_t address);
void address_ranges_release(struct address_ranges *r);
