/* /debug/pprof/threadcreate: the threads that run, by the function they began with. */
#include "base/clock.h"
#include "format/format.h"
#include "sdk/answers.h"
#include "sdk/background_state.h"
#include "sdk/own_threads.h"

struct births {
	struct background *b;
	struct profile *profile;
	VEC(u64) starts;
	enum err error;
};

static enum err add_birth(struct births *all, u64 start)
{
	struct place_names *names = &all->b->windows.names;
	struct row row = {0};
	uint32_t frames[SYMBOL_FRAMES_MAX];
	int64_t one = 1;
	size_t n = 0;

	if (start)
		TRY(place_frames(names, intake_place(&all->b->intake, start), frames,
				 SYMBOL_FRAMES_MAX, &n));
	else
		/* It was already running when it was found: its start is unknown. */
		TRY(dict_named_frame(all->profile->dict, STR("[not known]"), &frames[n++]));
	TRY(dict_stack(all->profile->dict, frames, (uint32_t)n, &row.stack));
	return profile_add(all->profile, &row, &one);
}

/* Threads cannot begin or end meanwhile: names are looked for later. */
static void each_birth(void *context, u64 start)
{
	struct births *all = context;

	if (!all->error)
		all->error = vec_push(&all->starts, start);
}

static enum err add_births(struct births *all)
{
	threads_each(each_birth, all);
	TRY(all->error);
	vec_for_each (start, &all->starts)
		TRY(add_birth(all, *start));
	return ERR_OK;
}

enum err answer_threads_born(struct background *b, struct ask *a)
{
	struct profile_list list = {0};
	struct writing w = {.list = &list, .type = -1, .compress = 1};
	struct births all = {.b = b};
	struct dict d = {0};
	enum err e = dict_init(&d, (u64)b->start_wall);

	place_names_begin(&b->windows.names, &d);
	if (!e)
		e = profile_list_add(&list, &d, &all.profile);
	if (!e) {
		all.profile->time_ns = clock_wall_ns();
		e = profile_add_type(all.profile, STR("threadcreate"), STR("count"));
	}
	if (!e)
		e = add_births(&all);
	if (!e)
		e = pprof_write(&w, &a->answer);
	place_names_end(&b->windows.names);
	notes_release(&w.notes);
	profile_list_release(&list);
	dict_release(&d);
	vec_release(&all.starts);
	return e;
}
