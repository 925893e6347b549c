#include "cli/top_inlines.h"

#include "base/hash.h"

/* A caller and a callee of which the second was seen inlined here and called there. */
struct pair {
	uint32_t caller, callee; /* keys */
	bool inlined;		 /* wherever it was seen */
};

struct pairs {
	VEC(struct pair) list;
	struct map index;
};

static enum err note_pair(struct pairs *pairs, uint32_t caller, uint32_t callee, bool inlined)
{
	uint64_t hash = hash_mix((uint64_t)caller << 32 | callee, 1);

	MAP_PROBE(&pairs->index, hash, id)
	{
		struct pair *one = &pairs->list.v[id];

		if (one->caller == caller && one->callee == callee) {
			one->inlined = one->inlined && inlined;
			return ERR_OK;
		}
	}
	TRY(vec_push(&pairs->list, ((struct pair){caller, callee, inlined})));
	return map_put(&pairs->index, hash, (uint32_t)pairs->list.n - 1);
}

static uint8_t frame_inlining(const struct dict *d, uint32_t frame)
{
	return d->frames.v[frame].flags & FRAME_INLINED ? INLINED : NOT_INLINED;
}

/* Stacks of rows that have a value, each once. */
static enum err mark_stacks(const struct profile *p, uint32_t type, uint8_t **ret)
{
	uint8_t *used = mem_zalloc(p->dict->stacks.entries.n + 1, 1);

	if (!used)
		return ERR_NO_MEMORY;
	for (size_t i = 0; i < p->row_count; i++)
		if (profile_values(p, i)[type])
			used[p->stack[i]] = 1;
	*ret = used;
	return ERR_OK;
}

static void mark_frames(struct inlines *in, const struct dict *d, const uint8_t *used)
{
	for (uint32_t stack = 0; stack < d->stacks.entries.n; stack++) {
		uint32_t n;
		const uint32_t *frames = used[stack] ? stack_frames(d, stack, &n) : NULL;

		for (uint32_t i = 0; frames && i < n; i++)
			in->seen[in->keys.keys[frames[i]]] |= frame_inlining(d, frames[i]);
	}
}

/* Pairs whose callee is not the same everywhere; a function that calls itself is no pair. */
static enum err note_stack(const struct inlines *in, const struct dict *d, uint32_t stack,
			   struct pairs *pairs)
{
	uint32_t n;
	const uint32_t *frames = stack_frames(d, stack, &n);

	for (uint32_t i = 0; i + 1 < n; i++) {
		uint32_t callee = in->keys.keys[frames[i]], caller = in->keys.keys[frames[i + 1]];

		if (in->seen[callee] == (INLINED | NOT_INLINED) && caller != callee)
			TRY(note_pair(pairs, caller, callee,
				      frame_inlining(d, frames[i]) == INLINED));
	}
	return ERR_OK;
}

static enum err settle_mixed(struct inlines *in, const struct dict *d, const uint8_t *used)
{
	struct pairs pairs = {0};
	enum err e = ERR_OK;

	for (uint32_t stack = 0; !e && stack < d->stacks.entries.n; stack++)
		if (used[stack])
			e = note_stack(in, d, stack, &pairs);
	for (size_t key = 0; !e && key < in->keys.representative.n; key++)
		if (in->seen[key] == (INLINED | NOT_INLINED))
			in->seen[key] = 0;
	vec_for_each (one, &pairs.list)
		in->seen[one->callee] |= one->inlined ? INLINED : NOT_INLINED;
	vec_release(&pairs.list);
	map_release(&pairs.index);
	return e;
}

enum err inlines_build(struct inlines *in, const struct profile *p, uint32_t type, bool lines)
{
	CLEANUP(mem_free_ptr) uint8_t *used = NULL;

	TRY(frame_keys_build(p->dict, lines, &in->keys));
	in->seen = mem_zalloc(in->keys.representative.n + 1, 1);
	if (!in->seen)
		return ERR_NO_MEMORY;
	TRY(mark_stacks(p, type, &used));
	mark_frames(in, p->dict, used);
	return settle_mixed(in, p->dict, used);
}

void inlines_release(struct inlines *in)
{
	frame_keys_release(&in->keys);
	mem_free(in->seen);
}

uint8_t inlines_of(const struct inlines *in, uint32_t frame)
{
	return in->seen[in->keys.keys[frame]];
}
