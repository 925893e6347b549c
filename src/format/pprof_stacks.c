/*
 * The content hash of a sample's stack, by the rule of content_stack(): half of the time a file
 * takes is spent here. Location ids are decoded without a branch that depends on them, then their
 * hashes are summed; stacks with inlined frames are summed line by line.
 */
#include "format/pprof.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#define MAX_IDS 1024 /* bytes of a run; longer ones go the slow way */
#define BLOCK	64

/* One bit for each of 64 bytes: it is not the last of its number. */
#ifdef __SSE2__
static inline uint64_t continued(const uint8_t *p)
{
	uint64_t mask = 0;

	for (unsigned i = 0; i < 4; i++) {
		__m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)(p + 16 * i));

		mask |= (uint64_t)(uint32_t)_mm_movemask_epi8(bytes) << 16 * i;
	}
	return mask;
}
#else
static inline uint64_t continued(const uint8_t *p)
{
	uint64_t mask = 0, word;

	for (unsigned i = 0; i < 8; i++) {
		memcpy(&word, p + 8 * i, 8);
		/* Gathers the upper bits of eight bytes in the upper byte. */
		word = (word & 0x8080808080808080u) >> 7;
		mask |= word * 0x0102040810204080u >> 56 << 8 * i;
	}
	return mask;
}
#endif

/* Numbers of at most two bytes whose last bytes are marked in `ends`. */
static inline uint32_t *decode_block(const uint8_t *p, uint64_t ends, uint32_t *out)
{
	for (; ends; ends &= ends - 1) {
		uint32_t low, high, two;
		uint16_t word;

		/* The byte before the first is the end of a number, or the length of the run. */
		memcpy(&word, p + __builtin_ctzll(ends) - 1, 2);
		low = word & 0x7f;
		high = word >> 8;
		two = -(uint32_t)(word >> 7 & 1);
		*out++ = (two & (low | high << 7)) | (~two & high);
	}
	return out;
}

static uint32_t *decode_any(const uint8_t *p, const uint8_t *end, uint32_t *out)
{
	uint64_t id;

	while (p < end) {
		if (!pb_varint(&p, end, &id))
			return NULL;
		*out++ = id < UINT32_MAX ? (uint32_t)id : UINT32_MAX;
	}
	return out;
}

/* The ids of a run of at most MAX_IDS bytes, their number in ret_n; false when the run is cut. */
static inline bool decode_ids(const struct pprof_file *f, struct span run, uint32_t *out,
			      uint32_t *ret_n)
{
	const uint8_t *p = (const uint8_t *)f->bytes.p + run.at, *end = p + run.n;
	const uint8_t *file_end = (const uint8_t *)f->bytes.p + f->bytes.n;
	uint32_t *at = out;
	uint64_t carry = 0;

	while (p < end && file_end - p >= BLOCK) {
		uint64_t more = continued(p), inside = ~UINT64_C(0);

		if (end - p < BLOCK)
			inside = (UINT64_C(1) << (end - p)) - 1;
		/* A number of three bytes or more: from its beginning the general way. */
		if (__builtin_expect((more & (more << 1 | carry) & inside) != 0, 0))
			break;
		at = decode_block(p, ~more & inside, at);
		carry = more >> (BLOCK - 1);
		if (end - p <= BLOCK) {
			*ret_n = (uint32_t)(at - out);
			return !(more >> (end - p - 1) & 1);
		}
		p += BLOCK;
	}
	at = decode_any(p - carry, end, at);
	*ret_n = (uint32_t)(at - out);
	return at;
}

static uint64_t hash_inlined(const struct pprof_file *f, const struct pprof_location *l,
			     uint32_t *depth)
{
	const uint64_t *hash = f->line_hash.v + f->inlined.v[l->at].first_hash;
	uint64_t sum = 0;

	for (uint32_t i = 0; i < l->lines; i++)
		sum += hash[i] * content_multiplier(f->keys, (*depth)++);
	return sum;
}

/* Any locations there are, in stacks of any depth. */
static bool sum_any(struct pprof_file *f, const uint32_t *ids, uint32_t n, uint64_t *ret)
{
	uint32_t depth = 0, max_depth = f->out->limits.max_depth;
	uint64_t sum = 0;

	for (uint32_t i = 0; i < n; i++) {
		const struct pprof_location *l;

		if (ids[i] >= f->location_limit)
			return false;
		l = &f->location[ids[i]];
		if (!l->lines || l->lines > max_depth || depth > max_depth - l->lines)
			return false;
		if (l->lines > 1 && !pprof_spend_frames(f, l->lines))
			return false;
		if (l->lines > 1)
			sum += hash_inlined(f, l, &depth);
		else
			sum += f->location_hash[ids[i]] * content_multiplier(f->keys, depth++);
	}
	*ret = content_stack(sum, depth);
	return true;
}

bool pprof_hash_stack(struct pprof_file *f, struct span run, uint64_t *ret)
{
	const uint64_t *multiplier = f->keys->multipliers, *hash = f->location_hash;
	uint32_t ids[MAX_IDS], n, limit = (uint32_t)f->location_limit, odd = 0;
	uint64_t sum = 0;

	_Static_assert(MAX_IDS <= STACK_MULTIPLIERS, "one multiplier for each id");
	if (!limit || run.n > MAX_IDS || !decode_ids(f, run, ids, &n))
		return false;
	/* No location has id 0: its hash is 0, like that of every other that is not simple. */
	for (uint32_t i = 0; i < n; i++) {
		uint64_t h = hash[ids[i] < limit ? ids[i] : 0];

		odd += !h;
		sum += h * multiplier[i];
	}
	if (__builtin_expect(odd || n > f->out->limits.max_depth, 0))
		return sum_any(f, ids, n, ret);
	*ret = content_stack(sum, n);
	return true;
}
