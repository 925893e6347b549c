#include "base/hash.h"

#include <sys/random.h>
#include <time.h>

static uint64_t load64(const unsigned char *p)
{
	uint64_t v;

	memcpy(&v, p, 8);
	return v;
}

static uint64_t load32(const unsigned char *p)
{
	uint32_t v;

	memcpy(&v, p, 4);
	return v;
}

/* 0 to 16 bytes as two words; lengths are told apart by the final mix. */
static void load_tail(const unsigned char *p, size_t n, uint64_t *a, uint64_t *b)
{
	if (n >= 8) {
		*a = load64(p);
		*b = load64(p + n - 8);
	} else if (n >= 4) {
		*a = load32(p);
		*b = load32(p + n - 4);
	} else if (n) {
		*a = ((uint64_t)p[0] << 16) | ((uint64_t)p[n >> 1] << 8) | p[n - 1];
		*b = 0;
	} else {
		*a = *b = 0;
	}
}

uint64_t hash_bytes(const void *data, size_t n, uint64_t seed)
{
	const unsigned char *p = data;
	/* Both factors of a product are mixed with the seed. If one of them were input alone,
	 * chosen input could make it and the product 0 for every seed. */
	uint64_t h = seed, key = hash_mix(seed, HASH_K1), a, b;
	size_t left = n;

	while (left > 16) {
		h = hash_mix(load64(p) ^ h, load64(p + 8) ^ key);
		p += 16;
		left -= 16;
	}
	load_tail(p, left, &a, &b);
	return hash_mix(hash_mix(a ^ h, b ^ key), n ^ key);
}

uint64_t hash_random_seed(void)
{
	uint64_t seed;

	if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) != sizeof(seed)) {
		struct timespec now;

		clock_gettime(CLOCK_MONOTONIC, &now);
		seed = hash_mix((uint64_t)now.tv_nsec, (uint64_t)(uintptr_t)&seed);
	}
	return seed;
}
