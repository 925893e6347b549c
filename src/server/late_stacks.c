#include "server/late_stacks.h"

enum err late_stacks_init(struct late_stacks *s, struct profile *p)
{
	*s = (struct late_stacks){.profile = p, .frames = (uint32_t)p->dict->frames.n};
	s->instead = mem_zalloc(s->frames, sizeof(*s->instead));
	return s->instead ? ERR_OK : ERR_NO_MEMORY;
}

void late_stacks_release(struct late_stacks *s)
{
	mem_free(s->instead);
	vec_release(&s->replacements);
	vec_release(&s->pool);
	vec_release(&s->scratch);
}

enum err late_stacks_replace(struct late_stacks *s, uint32_t frame, const uint32_t *ids, size_t n)
{
	struct replacement r = {(uint32_t)s->pool.n, (uint32_t)n};

	TRY(vec_append(&s->pool, ids, n));
	TRY(vec_push(&s->replacements, r));
	s->instead[frame] = (uint32_t)s->replacements.n;
	return ERR_OK;
}

/* The caller of an inlined frame belongs to a location that is already symbolized. */
static const struct replacement *replacement_of(const struct late_stacks *s, const uint32_t *ids,
						uint32_t i)
{
	const struct dict *d = s->profile->dict;
	uint32_t number = ids[i] < s->frames ? s->instead[ids[i]] : 0;

	if (!number || (i && (d->frames.v[ids[i - 1]].flags & FRAME_INLINED)))
		return NULL;
	return &s->replacements.v[number - 1];
}

static enum err rewrite(struct late_stacks *s, uint32_t stack, uint32_t *ret)
{
	uint32_t n;
	const uint32_t *ids = stack_frames(s->profile->dict, stack, &n);
	bool changed = false;

	s->scratch.n = 0;
	for (uint32_t i = 0; i < n; i++) {
		const struct replacement *r = replacement_of(s, ids, i);

		changed |= r != NULL;
		if (r)
			TRY(vec_append(&s->scratch, s->pool.v + r->at, r->n));
		else
			TRY(vec_push(&s->scratch, ids[i]));
	}
	*ret = stack;
	return changed ? dict_stack(s->profile->dict, s->scratch.v, (uint32_t)s->scratch.n, ret)
		       : ERR_OK;
}

enum err late_stacks_apply(struct late_stacks *s)
{
	struct profile *p = s->profile;
	CLEANUP(mem_free_ptr)
	uint32_t *moved = mem_zalloc(p->dict->stacks.entries.n, sizeof(*moved));
	enum err error = moved ? ERR_OK : ERR_NO_MEMORY;

	if (!s->replacements.n)
		return ERR_OK;
	for (size_t i = 0; !error && i < p->row_count; i++) {
		uint32_t stack = p->stack[i], fresh;

		/* Stack 0 is empty and stays. */
		if (!moved[stack]) {
			error = rewrite(s, stack, &fresh);
			moved[stack] = error ? 0 : fresh;
		}
		if (!error)
			p->stack[i] = moved[stack];
	}
	return error;
}
