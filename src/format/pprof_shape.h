/*
 * Entries of small numbers (functions, locations) decoded by their shape. Private to src/format.
 *
 * Such an entry is tag, number, tag, number …: which of its bytes end a number tells where every
 * number begins, and a file has a handful of such shapes. The first entry of a shape is walked
 * through; those like it are taken apart by a few shuffles, and their tags compared at once.
 * Nothing branches on how long a number is, which no processor could predict.
 *
 * Where bytes cannot be shuffled, and for entries of no usual shape, there is the general way.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define SHAPE_BYTES	 32 /* of an entry at most, and readable from its beginning */
#define SHAPE_NUMBERS	 4  /* of up to four bytes each */
#define SHAPE_FIXED	 8
#define SHAPE_SLOTS_LOG2 6

/* Where the number behind a tag goes: 0 … SHAPE_NUMBERS - 1, or one of these. */
enum shape_place {
	SHAPE_LARGE = SHAPE_NUMBERS, /* the one of up to eight bytes */
	SHAPE_REST, /* no number: a message that is the rest of the entry, its fields follow */
};

/* A field an entry may have, each at most once and in this order; all zero ends the list. */
struct shape_field {
	uint8_t tag, place;
};

struct shape {
	uint64_t key;	/* which bytes end a number, and how many there are; 0 = free */
	uint64_t fixed; /* bytes that are the same in every entry of this shape */
	uint8_t to[4][16];
};

struct shapes {
	struct shape v[1 << SHAPE_SLOTS_LOG2];
	const struct shape_field *fields;
	unsigned tries; /* shapes that may still be learnt: many different ones are not usual */
	bool usable;
};

struct shape_numbers {
	uint32_t small[SHAPE_NUMBERS]; /* 0 where the entry has no such field */
	uint64_t large;
};

void shapes_init(struct shapes *s, const struct shape_field *fields);
/* Plans a shape from the first entry that has it; one that is no list of the fields in order gets a
 * plan that fits nothing. False when that is all for this file. */
bool shape_learn(struct shapes *s, struct shape *shape, const uint8_t *p, unsigned n, uint64_t key);

#ifdef __x86_64__
#include <immintrin.h>

#define SHAPED __attribute__((target("avx2,bmi2")))

/* Bytes of an entry where the shape wants them, from either half. */
SHAPED static inline __m128i shape_spread(const uint8_t *to, __m256i entry)
{
	__m256i halves =
		_mm256_shuffle_epi8(entry, _mm256_loadu_si256((const __m256i *)(const void *)to));

	return _mm_or_si128(_mm256_castsi256_si128(halves), _mm256_extracti128_si256(halves, 1));
}

/* Seven bits of every byte, four bytes to a number. */
SHAPED static inline __m128i shape_join(__m128i bytes)
{
	__m128i low = _mm_and_si128(bytes, _mm_set1_epi8(0x7f));
	__m128i pairs = _mm_maddubs_epi16(_mm_set1_epi16((short)0x8001), low);

	return _mm_madd_epi16(pairs, _mm_set1_epi32(0x40000001));
}

/* The entry of `n` bytes at p, where SHAPE_BYTES can be read. False = not of a usual shape. */
SHAPED static inline bool shape_decode(struct shapes *s, const uint8_t *p, uint32_t n,
				       struct shape_numbers *ret)
{
	__m256i entry = _mm256_loadu_si256((const __m256i *)(const void *)p);
	uint64_t more = (uint32_t)_mm256_movemask_epi8(entry), key, halves;
	struct shape *shape;
	__m128i large;

	if (__builtin_expect(n > SHAPE_BYTES, 0))
		return false;
	key = _bzhi_u64(more, n) | (uint64_t)1 << n;
	shape = &s->v[key * 0x9e3779b97f4a7c15u >> (64 - SHAPE_SLOTS_LOG2)];
	if (__builtin_expect(shape->key != key, 0) && !shape_learn(s, shape, p, n, key))
		return false;
	large = shape_spread(shape->to[2], entry);
	if (__builtin_expect((uint64_t)_mm_extract_epi64(large, 1) != shape->fixed, 0))
		return false;
	_mm_storeu_si128((__m128i *)(void *)ret->small,
			 shape_join(shape_spread(shape->to[0], entry)));
	/* Two halves of 28 bits each. */
	halves = (uint64_t)_mm_cvtsi128_si64(shape_join(large));
	ret->large = (halves & 0xfffffff) | (halves >> 4 & 0xfffffff0000000);
	return true;
}
#endif
