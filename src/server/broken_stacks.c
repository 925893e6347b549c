#include "server/broken_stacks.h"

#include "base/alloc.h"

/* What profilers put where they lost the way. */
static const char *const marks[] = {
	"[truncated]",	  "(truncated)",	 "truncated",	    "[broken]",
	"[unknown_Java]", "[not_walkable_Java]", "[unwind_failed]",
};

static bool is_mark(const struct dict *d, uint32_t frame)
{
	const struct frame *f = &d->frames.v[frame];
	struct str name = dict_str(d, d->functions.v[f->function].name);

	if (str_eq(dict_str(d, f->kind), STR("abort-marker")))
		return true;
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

enum err broken_stacks_note(const struct profile *p, struct notes *notes)
{
	CLEANUP(mem_free_ptr) bool *frames = mem_zalloc(p->dict->frames.n, sizeof(*frames));
	double broken = 0, total = 0;
	bool any = false;

	if (!frames)
		return ERR_NO_MEMORY;
	for (uint32_t i = 0; i < p->dict->frames.n; i++)
		any |= frames[i] = is_mark(p->dict, i);
	for (size_t i = 0; any && i < p->row_count; i++) {
		double value = (double)profile_values(p, i)[0];

		total += value;
		broken += is_broken(p->dict, frames, p->stack[i]) ? value : 0;
	}
	if (broken > 0 && total > 0)
		notes_add(notes, "%.1f%% are in stacks that were cut or could not be walked",
			  100 * broken / total);
	return ERR_OK;
}
