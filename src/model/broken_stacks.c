#include "model/broken_stacks.h"

#include <math.h>

#include "base/alloc.h"

/* Marker frames of profilers for missing callers. */
static const char *const marks[] = {
	STACK_MARK_CUT, STACK_MARK_FAILED, "(truncated)",	  "truncated",
	"[broken]",	"[unknown_Java]",  "[not_walkable_Java]",
};

static bool is_mark(const struct dict *d, uint32_t frame)
{
	const struct frame *f = &d->frames.v[frame];
	struct str name = dict_str(d, d->functions.v[f->function].name);

	if (f->kind && str_eq(dict_str(d, f->kind), STR(STACK_MARK_KIND)))
		return true;
	if (!name.n || (name.p[0] != '[' && name.p[0] != '(' && name.p[0] != 't'))
		return false;
	for (size_t i = 0; i < sizeof(marks) / sizeof(*marks); i++)
		if (str_eq(name, str_of(marks[i])))
			return true;
	return false;
}

static enum err flaws_of_frames(const struct dict *d, uint8_t **ret)
{
	uint8_t *flaws = mem_zalloc(d->frames.n + 1, sizeof(*flaws));

	if (!flaws)
		return ERR_NO_MEMORY;
	for (uint32_t i = 1; i < d->frames.n; i++)
		flaws[i] = is_mark(d, i) ? FLAW_TRUNCATED : frame_name(d, i).n ? 0 : FLAW_UNNAMED;
	*ret = flaws;
	return ERR_OK;
}

/* A mark stands at one of the ends: cut at the root, lost at the leaf. */
static uint8_t look_at(const struct dict *d, const uint8_t *frames, uint32_t stack)
{
	uint32_t n;
	const uint32_t *ids = stack_frames(d, stack, &n);
	uint8_t found = FLAW_SEEN;

	if (n)
		found |= (frames[ids[0]] | frames[ids[n - 1]]) & FLAW_TRUNCATED;
	for (uint32_t i = 0; i < n; i++)
		found |= frames[ids[i]] & FLAW_UNNAMED;
	return found;
}

enum err stack_flaws(const struct dict *d, uint8_t **ret)
{
	CLEANUP(mem_free_ptr) uint8_t *frames = NULL;
	uint8_t *flaws;

	TRY(flaws_of_frames(d, &frames));
	flaws = mem_zalloc(d->stacks.entries.n + 1, sizeof(*flaws));
	if (!flaws)
		return ERR_NO_MEMORY;
	for (uint32_t i = 0; i < d->stacks.entries.n; i++)
		flaws[i] = look_at(d, frames, i);
	*ret = flaws;
	return ERR_OK;
}

/* Distinct frames and stacks, each counted at its first row. */
static void count_distinct(const struct dict *d, const uint8_t *frames, uint32_t stack,
			   uint8_t *seen, struct stack_quality *q)
{
	uint32_t n;
	const uint32_t *ids = stack_frames(d, stack, &n);

	for (uint32_t i = 0; i < n; i++) {
		if (seen[ids[i]])
			continue;
		seen[ids[i]] = 1;
		q->frames += !(frames[ids[i]] & FLAW_TRUNCATED);
		q->unnamed_frames += frames[ids[i]] & FLAW_UNNAMED ? 1 : 0;
	}
}

enum err profile_quality(const struct profile *p, uint32_t type, struct stack_quality *ret)
{
	const struct dict *d = p->dict;
	CLEANUP(mem_free_ptr) uint8_t *frames = NULL;
	CLEANUP(mem_free_ptr) uint8_t *seen = mem_zalloc(d->frames.n + 1, sizeof(*seen));
	CLEANUP(mem_free_ptr)
	uint8_t *stacks = mem_zalloc(d->stacks.entries.n + 1, sizeof(*stacks));
	struct stack_quality q = {0};
	double total = 0;

	if (!seen || !stacks)
		return ERR_NO_MEMORY;
	TRY(flaws_of_frames(d, &frames));
	for (size_t i = 0; i < p->row_count; i++) {
		double value = fabs((double)profile_values(p, i)[type]);
		uint8_t *flaws = &stacks[p->stack[i]];

		if (value <= 0)
			continue;
		if (!*flaws) {
			*flaws = look_at(d, frames, p->stack[i]);
			count_distinct(d, frames, p->stack[i], seen, &q);
			q.stacks++;
			q.truncated_stacks += *flaws & FLAW_TRUNCATED ? 1 : 0;
		}
		total += value;
		q.truncated += *flaws & FLAW_TRUNCATED ? value : 0;
		q.unnamed += *flaws & FLAW_UNNAMED ? value : 0;
	}
	q.truncated = total > 0 ? q.truncated / total : 0;
	q.unnamed = total > 0 ? q.unnamed / total : 0;
	*ret = q;
	return ERR_OK;
}

enum err profile_broken_share(const struct profile *p, uint32_t type, double *ret)
{
	struct stack_quality q;

	TRY(profile_quality(p, type, &q));
	*ret = q.truncated;
	return ERR_OK;
}
