/*
 * Runs of packed numbers, most of the bytes of any profile. Where numbers end is known for 64 bytes
 * at once, so that the next number need not wait for the length of this one, and lengths that vary
 * cost no mispredicted branch. Processors that can shuffle bytes take four numbers at a time, those
 * that can also press bytes together all of the 64 bytes.
 */
#include <pthread.h>
#ifdef __SSE2__
#include <immintrin.h>
#endif

#include "format/protobuf.h"

#define BLOCK  64
#define SPARE  4  /* numbers that may be written beyond those that count */
#define WINDOW 12 /* bytes: four numbers of up to three */

bool pb_run_narrow;

/* A bit for each of 64 bytes: set where a number goes on. */
static inline uint64_t continued(const uint8_t *p)
{
	uint64_t more = 0;

#ifdef __SSE2__
	for (unsigned i = 0; i < BLOCK; i += 16) {
		__m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)(p + i));

		more |= (uint64_t)(uint32_t)_mm_movemask_epi8(bytes) << i;
	}
#else
	for (unsigned i = 0; i < BLOCK; i += 8) {
		uint64_t word;

		memcpy(&word, p + i, 8);
		/* The top bit of every byte, gathered by one product. */
		word = (word & 0x8080808080808080u) >> 7;
		more |= (word * 0x0102040810204080u >> 56) << i;
	}
#endif
	return more;
}

/*
 * Takes the numbers of up to four bytes among the first BLOCK bytes at p, of which `more` tells
 * which end where. Returns how many bytes they have; *out moves behind them.
 */
static size_t take_one_by_one(const uint8_t *p, uint64_t more, uint32_t **out)
{
	uint64_t ends = ~more;
	unsigned start = 0;

	while (ends) {
		unsigned stop = (unsigned)__builtin_ctzll(ends);
		uint32_t word;

		if (__builtin_expect(stop - start > 3, 0))
			break;
		memcpy(&word, p + start, 4);
		word &= 0xffffffffu >> (24 - 8 * (stop - start));
		*(*out)++ = (word & 0x7f) | (word >> 1 & 0x3f80) | (word >> 2 & 0x1fc000) |
			    (word >> 3 & 0xfe00000);
		start = stop + 1;
		ends &= ends - 1;
	}
	return start;
}

#ifdef __SSE2__
/* Decoding steps for a window, by the bytes that are not the last of their number. */
struct step {
	uint8_t shuffle, bytes, count;
};
static struct step steps[1 << WINDOW];
static uint8_t shuffles[81][16]; /* by the lengths of four numbers: which byte; 0x80 = none */
static bool can_shuffle, can_compress;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void plan_step(unsigned more)
{
	unsigned at = 0, place = 0, weight = 1, length[4] = {1, 1, 1, 1};
	struct step s = {0};

	for (; s.count < 4; s.count++) {
		unsigned n = 1;

		while (at + n <= WINDOW && more >> (at + n - 1) & 1)
			n++;
		if (n > 3 || at + n > WINDOW)
			break;
		length[s.count] = n;
		at += n;
	}
	s.bytes = (uint8_t)at;
	for (unsigned i = 0; i < 4; i++, weight *= 3)
		s.shuffle = (uint8_t)(s.shuffle + (length[i] - 1) * weight);
	for (unsigned i = 0; i < 4; i++)
		for (unsigned k = 0; k < 4; k++)
			shuffles[s.shuffle][4 * i + k] =
				k < length[i] ? (uint8_t)place++ : (uint8_t)0x80;
	steps[more] = s;
}

static void plan_steps(void)
{
	for (unsigned more = 0; more < 1 << WINDOW; more++)
		plan_step(more);
	can_shuffle = __builtin_cpu_supports("ssse3");
	can_compress = __builtin_cpu_supports("avx512bw") &&
		       __builtin_cpu_supports("avx512vbmi2") && __builtin_cpu_supports("bmi2");
}

/* Four numbers are written, though fewer may count. */
__attribute__((target("ssse3"))) static inline void spread(const uint8_t *p, unsigned shuffle,
							   uint32_t *out)
{
	__m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)p);
	__m128i to = _mm_loadu_si128((const __m128i *)(const void *)shuffles[shuffle]);
	__m128i wide = _mm_shuffle_epi8(bytes, to);
	__m128i low = _mm_and_si128(wide, _mm_set1_epi32(0x7f));
	__m128i middle = _mm_and_si128(_mm_srli_epi32(wide, 1), _mm_set1_epi32(0x3f80));
	__m128i high = _mm_and_si128(_mm_srli_epi32(wide, 2), _mm_set1_epi32(0x1fc000));

	_mm_storeu_si128((__m128i *)(void *)out, _mm_or_si128(_mm_or_si128(low, middle), high));
}

/* The same as take_one_by_one(), with at least 16 more bytes readable. */
__attribute__((target("ssse3"))) static size_t take_shuffled(const uint8_t *p, uint64_t more,
							     uint32_t **out)
{
	uint32_t *to = *out;
	size_t at = 0;

	while (at <= BLOCK - WINDOW) {
		struct step s = steps[more >> at & ((1 << WINDOW) - 1)];

		spread(p + at, s.shuffle, to);
		to += s.count;
		at += s.bytes;
		if (__builtin_expect(!s.count, 0))
			break;
	}
	*out = to;
	/* The rest: the last numbers of the block, or a number of four bytes. */
	return at < BLOCK ? at + take_one_by_one(p + at, more >> at | ~(~UINT64_C(0) >> at), out)
			  : at;
}

#define COMPRESSED __attribute__((target("avx512f,avx512bw,avx512vbmi2,bmi2,popcnt,lzcnt")))

/* Sixteen numbers from their first, second and third bytes. */
COMPRESSED static inline void join(__m128i first, __m128i second, __m128i third, uint32_t *out)
{
	__m512i low = _mm512_cvtepu8_epi32(first);
	__m512i middle = _mm512_slli_epi32(_mm512_cvtepu8_epi32(second), 7);
	__m512i high = _mm512_slli_epi32(_mm512_cvtepu8_epi32(third), 14);

	_mm512_storeu_si512(out, _mm512_or_si512(_mm512_or_si512(low, middle), high));
}

/* The numbers that begin at `starts`, each of up to three bytes. BLOCK numbers are written. */
COMPRESSED static inline void take_starts(const uint8_t *p, uint64_t more, uint64_t starts,
					  uint32_t *out)
{
	__m512i seven = _mm512_set1_epi8(0x7f);
	__m512i first = _mm512_and_si512(_mm512_loadu_si512(p), seven);
	__m512i second = _mm512_and_si512(_mm512_maskz_loadu_epi8(more, p + 1), seven);
	__m512i third = _mm512_maskz_loadu_epi8(more & more >> 1, p + 2);

	first = _mm512_maskz_compress_epi8(starts, first);
	second = _mm512_maskz_compress_epi8(starts, second);
	third = _mm512_maskz_compress_epi8(starts, third);
#define JOIN(part)                                                                            \
	join(_mm512_extracti32x4_epi32(first, part), _mm512_extracti32x4_epi32(second, part), \
	     _mm512_extracti32x4_epi32(third, part), out + 16 * (part))
	JOIN(0);
	JOIN(1);
	/* Only where most numbers are of one byte. */
	if (__builtin_expect(_mm_popcnt_u64(starts) > 32, 0)) {
		JOIN(2);
		JOIN(3);
	}
#undef JOIN
}

/* The same as take_one_by_one(), with at least 16 more bytes readable. */
COMPRESSED static size_t take_compressed(const uint8_t *p, uint64_t more, uint32_t **out)
{
	uint64_t longer = more & more >> 1 & more >> 2, starts;
	unsigned taken = 64 - (unsigned)_lzcnt_u64(~more);

	if (taken)
		longer &= _bzhi_u64(~UINT64_C(0), taken);
	if (__builtin_expect(longer != 0, 0))
		return take_one_by_one(p, more, out);
	starts = _bzhi_u64(~(more << 1), taken);
	take_starts(p, more, starts, *out);
	*out += _mm_popcnt_u64(starts);
	return taken;
}

static inline size_t take_block(const uint8_t *p, uint64_t more, uint32_t **out)
{
	if (can_compress && !pb_run_narrow)
		return take_compressed(p, more, out);
	return can_shuffle ? take_shuffled(p, more, out) : take_one_by_one(p, more, out);
}

static inline void prepare(void)
{
	(void)pthread_once(&once, plan_steps);
}
#else
static inline size_t take_block(const uint8_t *p, uint64_t more, uint32_t **out)
{
	return take_one_by_one(p, more, out);
}

static inline void prepare(void)
{
}
#endif

size_t pb_small_varints(const uint8_t **p, const uint8_t *end, const uint8_t *readable,
			uint32_t *ret, size_t max)
{
	const uint8_t *at = *p;
	uint32_t *out = ret;

	prepare();
	while (at < end && max - (size_t)(out - ret) >= BLOCK + SPARE &&
	       readable - at >= BLOCK + 16) {
		uint64_t more = continued(at);
		size_t taken;

		/* Make the bytes after the run look like continuation bytes. */
		if (end - at < BLOCK)
			more |= ~UINT64_C(0) << (end - at);
		taken = take_block(at, more, &out);
		at += taken;
		/* A number that is longer than all of them here, or cut by the end. */
		if (!taken)
			break;
	}
	*p = at;
	return (size_t)(out - ret);
}
