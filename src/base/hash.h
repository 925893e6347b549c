/*
 * 64-bit hashing of content. The result depends on bytes and seed only, not on the machine, so that
 * two writers with the same seed compute the same ids. For untrusted input the seed is secret, so
 * that collisions cannot be constructed.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

#define HASH_K1 0x9e3779b97f4a7c15u
#define HASH_K2 0xd6e8feb86659fd93u

/*
 * Multiplies to 128 bits and folds: every input bit reaches every output bit. The constants are
 * public, so a chosen factor can make the result 0: mix untrusted numbers with the seed first
 * (`number ^ hash`).
 */
static inline uint64_t hash_mix(uint64_t a, uint64_t b)
{
	__uint128_t product = (__uint128_t)(a ^ HASH_K1) * (b ^ HASH_K2);

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

uint64_t hash_bytes(const void *data, size_t n, uint64_t seed);

static inline uint64_t hash_str(struct str s, uint64_t seed)
{
	return hash_bytes(s.p, s.n, seed);
}

/* An unpredictable seed. */
uint64_t hash_random_seed(void);
