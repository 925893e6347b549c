/*
 * Max-min fairness: tenants below an equal share of the capacity keep what they use; the rest is
 * shared equally by the others, and so on.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* The share: if all usage above it is removed, the sum is at most `capacity`. UINT64_MAX if nothing
 * has to be removed. */
uint64_t fair_share(const uint64_t *use, size_t n, uint64_t capacity);
