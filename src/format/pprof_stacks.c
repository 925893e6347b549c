/*
 * The content hash of a sample's stack, by the rule of content_stack(): half of the time a file
 * takes is spent here. Location ids are decoded (pprof_ids.c), then their hashes are summed; stacks
 * with inlined frames are summed line by line.
 */
#include "format/pprof.h"

#define MAX_IDS 1024 /* bytes of a run; longer ones go the slow way */

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
	uint32_t ids[MAX_IDS + PPROF_IDS_SLACK], n, limit = (uint32_t)f->location_limit, odd = 0;
	uint64_t sum = 0;

	_Static_assert(MAX_IDS <= STACK_MULTIPLIERS, "one multiplier for each id");
	if (!limit || run.n > MAX_IDS || !pprof_decode_ids(f, run, ids, &n))
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
