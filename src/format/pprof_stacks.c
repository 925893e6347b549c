/*
 * The content hash of a sample's stack, by the rule of content_stack(): half of the time a file
 * takes is spent here. Location ids are decoded (pprof_ids.c), then their hashes are summed; stacks
 * with inlined frames are summed line by line.
 */
#include "format/pprof.h"

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
	const uint64_t *m = f->keys->multipliers, *hash = f->location_hash;
	uint32_t list[PPROF_QUICK_BYTES + PPROF_IDS_SLACK];
	struct pprof_ids ids;
	uint64_t sum = 0;

	_Static_assert(PPROF_QUICK_BYTES + 4 <= STACK_MULTIPLIERS, "one multiplier for each id");
	if (!f->location_limit || run.n > PPROF_QUICK_BYTES ||
	    !pprof_decode_ids(f, run, list, &ids))
		return false;
	if (__builtin_expect(!ids.plain || ids.n > f->out->limits.max_depth, 0))
		return sum_any(f, list, ids.n, ret);
	/* Four at a time: behind the last there are zeros, and the hash of id 0 is 0. */
	for (uint32_t i = 0; i < ids.n; i += 4)
		sum += hash[list[i]] * m[i] + hash[list[i + 1]] * m[i + 1] +
		       (hash[list[i + 2]] * m[i + 2] + hash[list[i + 3]] * m[i + 3]);
	*ret = content_stack(sum, ids.n);
	return true;
}
