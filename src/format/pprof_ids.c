/*
 * Packed runs of location ids: most of a file's samples. Numbers of one and two bytes, which
 * nearly all of them are, are decoded without a branch that depends on them: eight bytes at a time
 * where the processor can shuffle bytes, 32 where it can also press words together. Whatever is
 * different goes the general way.
 */
#include <pthread.h>

#include "format/pprof.h"

enum pprof_means pprof_means = PPROF_EVERYTHING;

#define BLOCK	       64
#define MANY_LOCATIONS (1 << 15)

#ifdef __SSE2__
#include <immintrin.h>

/* How to spread eight bytes over 16-bit numbers, by which of them are not the last of theirs. */
struct shuffle {
	uint8_t to[16]; /* which byte; 0x80 = none */
};
static struct shuffle shuffles[256];
static uint8_t counts[256], lengths[256]; /* numbers that end within, and their bytes */
static bool can_shuffle, can_compress;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void plan_shuffle(unsigned more)
{
	unsigned at = 0, n = 0;

	memset(shuffles[more].to, 0x80, sizeof(shuffles[more].to));
	for (; at < 8; n++) {
		unsigned length = 1 + (more >> at & 1);

		/* Cut, or of three bytes. */
		if (at + length > 8 || more >> (at + length - 1) & 1)
			break;
		for (unsigned i = 0; i < length; i++)
			shuffles[more].to[2 * n + i] = (uint8_t)(at + i);
		at += length;
	}
	counts[more] = (uint8_t)n;
	lengths[more] = (uint8_t)at;
}

static void plan_shuffles(void)
{
	for (unsigned more = 0; more < 256; more++)
		plan_shuffle(more);
	can_shuffle = __builtin_cpu_supports("ssse3");
	can_compress = __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
		       __builtin_cpu_supports("avx512vbmi2") && __builtin_cpu_supports("bmi2");
}

/* One bit for each of 64 bytes: it is not the last of its number. */
static inline uint64_t continued(const uint8_t *p)
{
	uint64_t mask = 0;

	for (unsigned i = 0; i < 4; i++) {
		__m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)(p + 16 * i));

		mask |= (uint64_t)(uint32_t)_mm_movemask_epi8(bytes) << 16 * i;
	}
	return mask;
}

/* Eight numbers are written, though fewer may count. */
__attribute__((target("ssse3"))) static inline void spread(const uint8_t *p, unsigned more,
							   uint32_t *out)
{
	__m128i bytes = _mm_loadl_epi64((const __m128i *)(const void *)p);
	__m128i to = _mm_loadu_si128((const __m128i *)(const void *)shuffles[more].to);
	__m128i pairs = _mm_shuffle_epi8(bytes, to), zero = _mm_setzero_si128();
	__m128i low = _mm_and_si128(pairs, _mm_set1_epi16(0x7f));
	__m128i high = _mm_and_si128(_mm_srli_epi16(pairs, 1), _mm_set1_epi16(0x3f80));
	__m128i ids = _mm_or_si128(low, high);

	_mm_storeu_si128((__m128i *)(void *)out, _mm_unpacklo_epi16(ids, zero));
	_mm_storeu_si128((__m128i *)(void *)(out + 4), _mm_unpackhi_epi16(ids, zero));
}

/* Decodes up to 64 bytes, `left` at most, of which `more` tells the ends; returns how many bytes
 * that were: all of them, or up to a number that reaches beyond. */
__attribute__((target("ssse3"))) static size_t shuffle_block(const uint8_t *p, uint64_t more,
							     size_t left, uint32_t **out)
{
	size_t at = 0;

	/* What is behind the run looks as if it did not end. */
	if (left < BLOCK)
		more |= ~UINT64_C(0) << left;
	while (at <= BLOCK - 8) {
		unsigned next = more >> at & 0xff;

		spread(p + at, next, *out);
		*out += counts[next];
		if (!lengths[next])
			break;
		at += lengths[next];
	}
	return at;
}

#define WIDE	   32 /* bytes at a time */
#define COMPRESSED __attribute__((target("avx512f,avx512bw,avx512vl,avx512vbmi2,bmi2,popcnt")))

/* The numbers that end within some bytes; `more` tells which are not the last of theirs. Writes
 * WIDE numbers, 0 behind those that count. Whether all of them are from 1 to `last`. */
COMPRESSED static inline bool compress(const uint8_t *p, __m256i bytes, uint32_t more,
				       uint32_t ends, uint16_t last, uint32_t *out)
{
	/* The byte before, where that belongs to the same number. */
	__m256i before = _mm256_maskz_loadu_epi8(more << 1, p - 1);
	__m512i low = _mm512_and_si512(_mm512_cvtepu8_epi16(before), _mm512_set1_epi16(0x7f));
	__m512i high = _mm512_cvtepu8_epi16(bytes), ids;
	__mmask32 outside;

	high = _mm512_mask_slli_epi16(high, more << 1, high, 7);
	ids = _mm512_or_si512(low, high);
	outside = _mm512_mask_cmpge_epu16_mask(ends, _mm512_sub_epi16(ids, _mm512_set1_epi16(1)),
					       _mm512_set1_epi16((short)last));
	ids = _mm512_maskz_compress_epi16(ends, ids);
	_mm512_storeu_si512(out, _mm512_cvtepu16_epi32(_mm512_castsi512_si256(ids)));
	_mm512_storeu_si512(out + 16, _mm512_cvtepu16_epi32(_mm512_extracti64x4_epi64(ids, 1)));
	return !outside;
}

/* All of a run, which must have no number of more than two bytes. */
COMPRESSED static bool compress_run(const uint8_t *p, size_t n, uint32_t last, uint32_t *ids,
				    struct pprof_ids *ret)
{
	uint32_t *out = ids;
	bool within = true;

	if (last > UINT16_MAX)
		last = UINT16_MAX;
	while (n) {
		uint32_t valid = _bzhi_u32(~(uint32_t)0, n < WIDE ? (uint32_t)n : WIDE);
		__m256i bytes = _mm256_maskz_loadu_epi8(valid, p);
		uint32_t more = (uint32_t)_mm256_movepi8_mask(bytes), ends = valid & ~more;
		unsigned done = 32 - (unsigned)__builtin_clz(ends | 1);

		if (__builtin_expect((more & more << 1) || !ends, 0))
			return false;
		within &= compress(p, bytes, more, ends, (uint16_t)last, out);
		out += __builtin_popcount(ends);
		p += done;
		n -= done;
	}
	*ret = (struct pprof_ids){(uint32_t)(out - ids), within};
	return true;
}
#endif

/* Number for number; they can be of any length. */
static bool decode_any(const uint8_t *p, const uint8_t *end, const uint8_t *readable, uint32_t *out,
		       uint32_t **ret)
{
	uint64_t id;

	while (p < end) {
		if (!pb_varint_quick(&p, end, readable, &id))
			return false;
		*out++ = id < UINT32_MAX ? (uint32_t)id : UINT32_MAX;
	}
	*ret = out;
	return true;
}

void pprof_ids_init(void)
{
#ifdef __SSE2__
	(void)pthread_once(&once, plan_shuffles);
#endif
}

typedef uint32_t four __attribute__((vector_size(16)));

/* Whether all are from 1 to `last`. */
static bool all_within(const uint32_t *ids, uint32_t n, uint32_t last)
{
	four outside = {0}, next;
	uint32_t i = 0, rest = 0;

	for (; i + 4 <= n; i += 4) {
		memcpy(&next, ids + i, sizeof(next));
		outside |= (four)(next - 1 >= last);
	}
	for (; i < n; i++)
		rest |= ids[i] - 1 >= last;
	return !(outside[0] | outside[1] | outside[2] | outside[3] | rest);
}

bool pprof_decode_ids(const struct pprof_file *f, struct span run, uint32_t *ids,
		      struct pprof_ids *ret)
{
	const uint8_t *p = (const uint8_t *)f->bytes.p + run.at, *end = p + run.n;
	const uint8_t *file_end = (const uint8_t *)f->bytes.p + f->bytes.n;
	uint32_t *out = ids;

	/* Where most ids have three bytes. */
	if (f->location_limit > MANY_LOCATIONS && pprof_means >= PPROF_SHUFFLES)
		out += pb_small_varints(&p, end, file_end, ids, run.n + PPROF_IDS_SLACK);
#ifdef __SSE2__
	bool short_ids = f->location_limit <= MANY_LOCATIONS && pprof_means >= PPROF_SHUFFLES;

	if (short_ids && can_compress && pprof_means >= PPROF_EVERYTHING && run.n &&
	    compress_run(p, run.n, f->plain_locations, ids, ret))
		return true;
	while (short_ids && can_shuffle && p < end && file_end - p >= BLOCK) {
		size_t done = shuffle_block(p, continued(p), (size_t)(end - p), &out);

		p += done;
		/* A number of three bytes or more: from its beginning the general way. */
		if (done < BLOCK - 8)
			break;
	}
#endif
	if (!decode_any(p, end, file_end, out, &out))
		return false;
	memset(out, 0, PPROF_IDS_ZEROS * sizeof(*out));
	ret->n = (uint32_t)(out - ids);
	ret->plain = all_within(ids, ret->n, f->plain_locations);
	return true;
}
