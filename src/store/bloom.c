#include "store/bloom.h"

#include "base/hash.h"

#define BITS_PER_SPAN 10
#define PROBES	      7

size_t bloom_size(size_t n)
{
	return n ? (n * BITS_PER_SPAN + 7) / 8 + 8 : 0;
}

/* Two halves of one hash make all the probes: h1, h1 + h2, h1 + 2 × h2 … */
static uint64_t span_hash(const uint8_t span_id[8])
{
	return hash_bytes(span_id, 8, 0);
}

void bloom_add(uint8_t *filter, size_t size, const uint8_t span_id[8])
{
	uint64_t hash = span_hash(span_id);
	uint32_t at = (uint32_t)hash, step = (uint32_t)(hash >> 32) | 1;

	for (unsigned i = 0; i < PROBES && size; i++, at += step) {
		uint64_t bit = (uint64_t)at * (size * 8) >> 32;

		filter[bit / 8] |= (uint8_t)(1u << (bit % 8));
	}
}

bool bloom_has(const uint8_t *filter, size_t size, const uint8_t span_id[8])
{
	uint64_t hash = span_hash(span_id);
	uint32_t at = (uint32_t)hash, step = (uint32_t)(hash >> 32) | 1;

	for (unsigned i = 0; i < PROBES && size; i++, at += step) {
		uint64_t bit = (uint64_t)at * (size * 8) >> 32;

		if (!(filter[bit / 8] >> (bit % 8) & 1))
			return false;
	}
	return size != 0;
}
