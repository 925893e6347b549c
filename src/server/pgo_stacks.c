#include "server/pgo_stacks.h"

struct cutting {
	struct profile *p;
	uint64_t keep;
	bool aggregate;
	VEC(uint32_t) frames;
	VEC(uint32_t) known; /* by stack before: stack after + 1 */
};

static void release(struct cutting *c)
{
	vec_release(&c->frames);
	vec_release(&c->known);
}

/* The same place in the program without where in the function it was. */
static enum err without_line(struct dict *d, uint32_t frame, uint32_t *ret)
{
	struct frame f = d->frames.v[frame];

	f.line = f.column = 0;
	f.address = 0;
	return dict_frame(d, &f, ret);
}

static enum err cut(struct cutting *c, uint32_t stack, uint32_t *ret)
{
	struct dict *d = c->p->dict;
	uint32_t n, kept = 0;
	const uint32_t *frames = stack_frames(d, stack, &n);

	for (uint64_t i = 0; kept < n && (!c->keep || i < c->keep); i++)
		kept += stack_location_length(d, frames + kept, n - kept);
	c->frames.n = 0;
	TRY(vec_append(&c->frames, frames, kept));
	if (c->aggregate && kept)
		TRY(without_line(d, c->frames.v[0], &c->frames.v[0]));
	return dict_stack(d, c->frames.v, kept, ret);
}

static enum err cut_all(struct cutting *c)
{
	struct profile *p = c->p;
	size_t stacks = p->dict->stacks.entries.n;

	TRY(vec_reserve(&c->known, stacks));
	memset(c->known.v, 0, stacks * sizeof(*c->known.v));
	for (size_t i = 0; i < p->row_count; i++) {
		uint32_t *known = &c->known.v[p->stack[i]], after;

		if (!*known) {
			TRY(cut(c, p->stack[i], &after));
			*known = after + 1;
		}
		p->stack[i] = *known - 1;
	}
	return ERR_OK;
}

enum err profile_keep_callees(struct profile *p, uint64_t keep, bool aggregate)
{
	CLEANUP(release) struct cutting c = {.p = p, .keep = keep, .aggregate = aggregate};
	struct profile merged;

	TRY(cut_all(&c));
	TRY(profile_aggregate(p, 0, &merged));
	profile_release(p);
	*p = merged;
	return ERR_OK;
}
