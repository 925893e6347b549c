/*
 * Runs of packed numbers, most of the bytes of any profile. Where numbers end is known for 64 bytes
 * at once, so that the next number need not wait for the length of this one, and lengths that vary
 * cost no mispredicted branch. Processors that can shuffle bytes take four numbers at a time.
 */
#include <pthread.h>

#include "format/protobuf.h"

#define BLOCK  64
#define SPARE  4  /* numbers that may be written beyond those that count */
#define WINDOW 12 /* bytes: four numbers of up to three */

/* A bit for each of 64 bytes: set where a number goes on. */
static inline uint64_t continued(const uint8_t *p)
{
	uint64_t more = 0, word;

	for (unsigned i = 0; i < BLOCK; i += 8) {
		memcpy(&word, p + i, 8);
		/* The top bit of every byte, gathered by one product. */
		word = (word & 0x8080808080808080u) >> 7;
		more |= (word * 0x0102040810204080u >> 56) << i;
	}
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
#include <tmmintrin.h>

/* What to do with a window, by which of its bytes are not the last of their number. */
struct step {
	uint8_t shuffle, bytes, count;
};
static struct step steps[1 << WINDOW];
static uint8_t shuffles[81][16]; /* by the lengths of four numbers: which byte; 0x80 = none */
static bool can_shuffle;
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
	/* What is left: the last of the block, or a number of four bytes. */
	return at < BLOCK ? at + take_one_by_one(p + at, more >> at | ~(~UINT64_C(0) >> at), out)
			  : at;
}

static inline size_t take_block(const uint8_t *p, uint64_t more, uint32_t **out)
{
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

		/* What is behind the run looks as if it did not end. */
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
