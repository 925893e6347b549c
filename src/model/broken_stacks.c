#include "model/broken_stacks.h"

#include <math.h>

#include "base/alloc.h"

/* What profilers put where they lost the way. */
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

/* A mark stands at one of the ends: cut at the root, lost at the leaf. */
static bool is_broken(const struct dict *d, const bool *frames, uint32_t stack)
{
	uint32_t n;
	const uint32_t *ids = stack_frames(d, stack, &n);

	return n && (frames[ids[0]] || frames[ids[n - 1]]);
}

enum err profile_broken_share(const struct profile *p, uint32_t type, double *ret)
{
	CLEANUP(mem_free_ptr) bool *frames = mem_zalloc(p->dict->frames.n, sizeof(*frames));
	double broken = 0, total = 0;
	bool any = false;

	if (!frames)
		return ERR_NO_MEMORY;
	for (uint32_t i = 0; i < p->dict->frames.n; i++)
		any |= frames[i] = is_mark(p->dict, i);
	for (size_t i = 0; any && i < p->row_count; i++) {
		double value = fabs((double)profile_values(p, i)[type]);

		total += value;
		broken += is_broken(p->dict, frames, p->stack[i]) ? value : 0;
	}
	*ret = total > 0 ? broken / total : 0;
	return ERR_OK;
}
