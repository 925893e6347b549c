/*
 * Plausibility checks of a readable profile; each message says what the problem means.
 */
#include <inttypes.h>

#include "cli/show_facts.h"

#define UNSYMBOLISED_SHARE 0.05

static struct str type_name(const struct facts *f, uint32_t type)
{
	return dict_str(f->p->dict, f->p->types[type].type);
}

static void check_values(const struct facts *f, struct notes *out)
{
	for (uint32_t i = 0; i < f->p->type_count; i++) {
		struct str name = type_name(f, i);
		const struct type_fact *t = &f->types[i];

		if (t->negative)
			notes_add(out, "%.*s: %" PRIu64 " samples have negative values%s",
				  (int)name.n, name.p, t->negative,
				  t->negative < t->nonzero ? "" : " (a difference?)");
		if (!t->nonzero && f->p->row_count)
			notes_add(out, "%.*s: all values are 0", (int)name.n, name.p);
		if (t->total == INT64_MAX || t->total == INT64_MIN)
			notes_add(out, "%.*s: the sum does not fit 64 bits", (int)name.n, name.p);
	}
}

static void check_symbols(const struct facts *f, struct notes *out)
{
	double share = facts_unsymbolised(f);

	if (share > UNSYMBOLISED_SHARE)
		notes_add(out, "%.0f %% of the frames have no function name: not symbolised",
			  share * 100);
	if (f->functions > 10 && f->functions_without_file * 2 > f->functions &&
	    f->functions_without_file < f->functions)
		notes_add(out, "%" PRIu64 " of %" PRIu64 " functions have no source file",
			  f->functions_without_file, f->functions);
}

static void check_stacks(const struct facts *f, struct notes *out)
{
	if (f->cut_depth)
		notes_add(out,
			  "%" PRIu64
			  " stacks end at exactly %u frames: the profiler cut them there, "
			  "so callers are missing",
			  f->cut_stacks, f->cut_depth);
	if (f->broken_share > 0)
		notes_add(out, "%.2f %% are in stacks that were cut or could not be walked",
			  100 * f->broken_share);
	if (f->empty_rows)
		notes_add(out, "%" PRIu64 " samples have no stack", f->empty_rows);
	/* Go writes a few of these for its labels: only a file made of them is worth a word. */
	if (f->repeated_rows > f->p->row_count / 2)
		notes_add(out,
			  "%" PRIu64 " samples repeat the stack and labels of another one (merging "
			  "would make the file smaller)",
			  f->repeated_rows);
}

static void check_time(const struct facts *f, struct notes *out)
{
	if (!f->p->time_ns && !f->timed_rows)
		notes_add(out, "no time: it cannot be placed on a time line");
	if (f->p->duration_ns < 0)
		notes_add(out, "the duration is negative");
	if (f->outside_window)
		notes_add(out, "%" PRIu64 " samples are outside of the profile's time range",
			  f->outside_window);
}

static void check_texts(const struct facts *f, struct notes *out)
{
	const struct dict *d = f->p->dict;
	uint64_t bad = 0;

	for (uint32_t i = 1; i < d->strings.n; i++)
		bad += !utf8_valid(dict_str(d, i));
	if (bad)
		notes_add(out,
			  "%" PRIu64 " names are not valid UTF-8; other formats get them replaced",
			  bad);
}

void checks_run(const struct facts *f, struct notes *ret)
{
	if (!f->p->row_count)
		notes_add(ret, "there are no samples in it");
	if (!f->p->type_count)
		notes_add(ret, "there are no sample types in it");
	check_values(f, ret);
	check_symbols(f, ret);
	check_stacks(f, ret);
	check_time(f, ret);
	check_texts(f, ret);
}
