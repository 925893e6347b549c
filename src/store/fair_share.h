/*
 * Max-min fairness: who has to give when all together have too much. Everybody who has less than an
 * equal share keeps what he has; what he leaves is shared equally by the others, and so on.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* The share: what is above it goes, so that the sum is at most `capacity`. UINT64_MAX when nothing
 * has to. */
uint64_t fair_share(const uint64_t *use, size_t n, uint64_t capacity);
