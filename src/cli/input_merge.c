/*
 * Several inputs as one profile.
 */
#include "cli/input.h"
#include "cli/readahead.h"
#include "cli/term.h"

/* The time from the first begin to the last end of an input's profiles; 0 when one has no time. */
static int64_t span_of(const struct profile_list *list)
{
	int64_t begin = INT64_MAX, end = 0;

	for (size_t i = 0; i < list->n; i++) {
		const struct profile *p = list->v[i];
		int64_t last;

		if (p->time_ns <= 0 || p->duration_ns < 0 ||
		    __builtin_add_overflow(p->time_ns, p->duration_ns, &last))
			return 0;
		begin = p->time_ns < begin ? p->time_ns : begin;
		end = last > end ? last : end;
	}
	return list->n ? end - begin : 0;
}

/*
 * Adds what the last input brought and forgets it: a thousand inputs need the memory of one.
 * Durations of inputs add up, as in pprof; the profiles of one input (the processes of a host in
 * one OTLP request) were taken side by side, and its duration is the time they span.
 */
static int merge_newest(struct inputs *in, struct merge *m)
{
	int64_t before = m->dst->duration_ns, span = span_of(&in->list);
	enum err e = ERR_OK;

	for (size_t i = 0; !e && i < in->list.n; i++)
		e = merge_add(m, in->list.v[i]);
	if (e)
		return complain(status_of(e), "%s: cannot be merged: %s",
				in->sources.v[in->sources.n - 1].name, err_text(e));
	if (in->list.n > 1 && span > 0 &&
	    __builtin_add_overflow(before, span, &m->dst->duration_ns))
		m->dst->duration_ns = INT64_MAX;
	profile_list_release(&in->list);
	return EXIT_OK;
}

/* The default type is that of the first profile, if types came from several. */
static void keep_default(struct profile *merged, const struct value_type *first)
{
	for (uint32_t i = 0; merged->default_type < 0 && i < merged->type_count; i++)
		if (merged->types[i].type == first->type && merged->types[i].unit == first->unit)
			merged->default_type = (int)i;
}

static int merge_finished(struct inputs *in, struct merge *m, struct profile *merged,
			  const struct value_type *first, uint32_t first_types)
{
	struct profile *slot;
	enum err e = merge_finish(m);

	if (!e)
		e = profile_list_add(&in->list, in->dict, &slot);
	if (e)
		return complain(status_of(e), "cannot merge the inputs: %s", err_text(e));
	if (merged->type_count != first_types)
		keep_default(merged, first);
	*slot = *merged;
	profile_init(merged, in->dict);
	return EXIT_OK;
}

static int read_and_merge(struct inputs *in, const struct text_list *names, size_t next)
{
	struct profile merged, *p = in->list.v[0];
	struct value_type first = {0};
	uint32_t first_types = p->type_count;
	struct readahead ahead;
	struct merge m;
	int status;

	if (p->type_count)
		first = p->types[profile_default_type(p)];
	profile_init(&merged, in->dict);
	merge_begin(&m, &merged);
	m.sum_gauges = in->options->sum_gauges;
	status = merge_newest(in, &m);
	progress_begin("reading", PROGRESS_FILES, names->n, in->common->quiet);
	if (!status)
		status = inputs_start_ahead(in, names, next, &ahead);
	if (!status) {
		for (size_t i = next; !status && i < names->n; i++) {
			progress_update(i);
			status = inputs_read_next(in, names->v[i], &ahead, i);
			if (!status)
				status = merge_newest(in, &m);
		}
		readahead_stop(&ahead);
	}
	progress_end();
	if (!status)
		status = merge_finished(in, &m, &merged, &first, first_types);
	merge_release(&m);
	profile_release(&merged);
	return status;
}

int inputs_merge(struct inputs *in)
{
	return in->list.n > 1 ? read_and_merge(in, &(struct text_list){0}, 0) : EXIT_OK;
}

int inputs_read_merged(struct inputs *in, const struct text_list *names)
{
	int status = inputs_check_stdin(names);
	size_t i = 0;

	/* Inputs without a profile in them are no ground to merge. */
	for (; !status && i < names->n && !in->list.n; i++)
		status = inputs_read(in, names->v[i]);
	if (status)
		return status;
	if (!in->list.n)
		return complain(EXIT_BAD_DATA, "%s: contains no profile", in->sources.v[0].name);
	if (in->list.n == 1 && i == names->n)
		return EXIT_OK;
	return read_and_merge(in, names, i);
}
