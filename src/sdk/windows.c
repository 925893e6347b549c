#include "sdk/windows.h"

#include "base/clock.h"
#include "sdk/wall.h"

/* Stacks that are kept from one interval to the next. */
#define STACKS_MAX 65536u

static void begin(struct windows *w)
{
	w->start = clock_monotonic_ns();
	w->end = w->start + (int64_t)w->settings->interval_ms * NS_PER_MS;
	w->wall = clock_wall_ns();
}

void windows_init(struct windows *w, const struct sdk_settings *s, struct intake *in)
{
	w->settings = s;
	w->intake = in;
	place_names_init(&w->names, in->loaded);
	outlet_init(&w->outlet, s);
	begin(w);
}

void windows_release(struct windows *w)
{
	outlet_release(&w->outlet);
	place_names_release(&w->names);
}

bool windows_due(const struct windows *w, int64_t now)
{
	return now >= w->end && outlet_by_interval(&w->outlet);
}

static void deliver(struct windows *w, const struct harvest_window *time)
{
	const struct tally *t = &w->intake->tally;
	struct profile_list list = {0};
	struct profile *one = NULL;
	struct dict d = {0};
	bool file = w->settings->output[0];
	enum err e = dict_init(&d, (u64)time->start_ns);

	if (!e && file) {
		e = profile_list_add(&list, &d, &one);
		if (!e)
			e = harvest_one(t, &w->names, w->settings, time, one);
	} else if (!e) {
		e = harvest_profiles(t, &w->names, w->settings, time, &d, &list);
	}
	if (!e && file)
		outlet_save(&w->outlet, &list);
	else if (!e && list.n)
		outlet_send(&w->outlet, &list);
	else if (e)
		w->outlet.given_up++;
	profile_list_release(&list);
	dict_release(&d);
	place_names_end(&w->names);
}

void windows_end(struct windows *w)
{
	struct harvest_window time = {w->wall, clock_monotonic_ns() - w->start};
	struct tally *t = &w->intake->tally;

	intake_count_live(w->intake);
	if (t->rows.n)
		deliver(w, &time);
	tally_clear(t);
	/* Watched objects hold numbers of stacks. */
	if (t->stacks.n > STACKS_MAX && !(w->settings->types & SDK_HEAP) && !w->intake->kept.n)
		tally_clear_stacks(t);
	if (w->intake->wall)
		wall_forget(w->intake->wall, !t->stacks.n);
	begin(w);
}
