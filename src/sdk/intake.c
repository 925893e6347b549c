#include "sdk/intake.h"

#include "base/clock.h"
#include "sdk/live_objects.h"
#include "sdk/sampling.h"
#include "sdk/stack_walk.h"
#include "sdk/wall.h"

static u64 place_in(const struct loaded_range *r, u64 address)
{
	if (!r)
		return address & PLACE_ADDRESS;
	return (u64)(r->module + 1) << PLACE_MODULE_SHIFT | ((address - r->bias) & PLACE_ADDRESS);
}

/* Callers are usually in the same module as their callee: try that first, if it is still loaded. */
static const struct loaded_range *range_of(const struct loaded *l, const struct loaded_range *last,
					   u64 address)
{
	const struct loaded_view *view = loaded_current();

	if (last && address - last->start < last->end - last->start && view &&
	    last >= view->ranges && last < view->ranges + view->count)
		return last;
	return loaded_place(l, address);
}

/* The section of the interception functions in a statically linked program; otherwise there is
 * none. */
extern const char __start_vestal_front[] __attribute__((weak, visibility("hidden")));
extern const char __stop_vestal_front[] __attribute__((weak, visibility("hidden")));

static bool is_front(u64 address)
{
	return address - (u64)(uintptr_t)__start_vestal_front <
	       (u64)(__stop_vestal_front - __start_vestal_front);
}

/* Addresses to places. A return address may be the first byte of the next function. */
static u32 places_of(const struct loaded *l, const struct taken_sample *s, const u64 *frames, u32 n,
		     u64 *places)
{
	const struct loaded_range *r = NULL;
	u32 count = 0;

	if (s->settled)
		places[count++] = s->settled == SETTLED ? PLACE_NOT_SAMPLED : PLACE_NO_PROCESSOR;
	for (u32 i = 0; i < n; i++) {
		bool call = i > 0 || s->from_call;
		u64 address = frames[i] - (call ? 1 : 0);

		r = range_of(l, r, address);
		/* Hide our own frames below malloc, and those that start threads. */
		if ((count || s->kind != SAMPLE_CPU) && ((r && r->own) || is_front(frames[i] - 1)))
			continue;
		places[count++] = place_in(r, address);
	}
	return count;
}

/* A lock is known by its place, where it lies in a module. */
static u64 about(const struct loaded *l, const struct taken_sample *s)
{
	const struct loaded_module *m;
	u32 number;

	if (s->kind != SAMPLE_LOCK && s->kind != SAMPLE_HELD && s->kind != SAMPLE_BLOCK)
		return s->thread_state;
	m = loaded_holds(l, s->object, &number);
	return m ? (u64)(number + 1) << PLACE_MODULE_SHIFT | (s->object - m->ranges[0].bias)
		 : s->object;
}

static void also_count(struct tally *t, const struct taken_sample *s, const struct span_context *of,
		       u64 about_what, const u64 *places, u32 n)
{
	u32 stack, context;

	if (tally_stack(t, places, n, &stack) || tally_context(t, of, &context))
		t->lost++;
	else
		tally_add_about(t, s->kind, stack, context, about_what, s->count, s->value);
}

static void count_for_others(struct intake *in, const struct taken_sample *s, const u64 *places,
			     u32 n)
{
	static const struct span_context none;
	u64 about_what = about(in->loaded, s);

	if (in->keep_totals && s->kind != SAMPLE_CPU)
		also_count(&in->totals, s, &none, about_what, places, n);
	for (u32 i = 0; i < CAPTURES_MAX; i++)
		if (in->captures[i])
			also_count(in->captures[i], s, &s->context, about_what, places, n);
}

enum err intake_number(void *intake, const struct taken_sample *s, u32 *ret)
{
	struct intake *in = intake;
	u64 places[SAMPLE_FRAMES_MAX + 1];
	u32 n = places_of(in->loaded, s, s->frames, s->frame_count, places);

	return tally_stack(&in->tally, places, n, ret);
}

static void let_wait(struct intake *in, const struct taken_sample *s, u32 stack)
{
	struct waiting_sample waiting = {.time = s->time_ns,
					 .count = s->count,
					 .value = s->value,
					 .thread = s->thread,
					 .stack = stack,
					 .context = s->context};

	kept_samples_add(&in->kept, &waiting);
}

/* CPU time is part of `wall`, and the last CPU sample has the stack of a running thread. */
static void count_cpu(struct intake *in, const struct taken_sample *s, u32 stack, u32 context)
{
	if (in->kept.settings && !s->settled)
		let_wait(in, s, stack);
	else if (in->settings->types & SDK_CPU)
		tally_add(&in->tally, SAMPLE_CPU, stack, context, s->count, s->value);
	if (in->settings->types & SDK_WALL)
		tally_add_about(&in->tally, SAMPLE_WALL, stack, context, THREAD_RUNNING, s->count,
				s->value);
	if (in->wall)
		wall_note(in->wall, s->record, stack);
}

static void count_sample(struct intake *in, const struct taken_sample *s, const u64 *frames, u32 n)
{
	u64 places[SAMPLE_FRAMES_MAX + 1];
	u32 count = places_of(in->loaded, s, frames, n, places), stack, context;

	count_for_others(in, s, places, count);
	/* Sampled only for a request. */
	if (s->kind == SAMPLE_CPU && (sampling_paused() || !(in->settings->types & SDK_TIMERS)))
		return;
	if (tally_stack(&in->tally, places, count, &stack) ||
	    tally_context(&in->tally, &s->context, &context)) {
		in->tally.lost++;
		return;
	}
	if (s->kind == SAMPLE_CPU)
		count_cpu(in, s, stack, context);
	else if (s->kind != SAMPLE_ALLOC || in->settings->types & SDK_ALLOC)
		tally_add_about(&in->tally, s->kind, stack, context, about(in->loaded, s), s->count,
				s->value);
	if (s->kind == SAMPLE_ALLOC && s->object)
		live_set_stack(s->object, s->serial, stack);
}

static void on_walked(void *context, const struct taken_sample *s)
{
	count_sample(context, s, s->frames, s->frame_count);
}

static void on_raw(void *context, const struct taken_sample *s)
{
	u64 frames[SAMPLE_FRAMES_MAX];
	struct intake *in = context;
	u32 n = raw_stack_walk(in->loaded, s->raw, frames, in->settings->depth);

	/* The copy ends somewhere; what was walked in place may have come further. */
	if (n > s->frame_count)
		count_sample(in, s, frames, n);
	else
		count_sample(in, s, s->frames, s->frame_count);
}

/* First the complete ones, with the modules of their time; then scan for new modules, and handle
 * those that need them. */
void intake_take(struct intake *in, bool last)
{
	kept_samples_begin(&in->kept);
	sample_slots_drain(false, on_walked, in);
	/* On failure, scan again in the next turn. */
	(void)!loaded_update(in->loaded);
	if (loaded_current())
		sample_slots_drain(true, on_raw, in);
	loaded_searched(in->loaded);
	kept_samples_end(&in->kept, clock_monotonic_ns(), last);
}

static void count_live(void *context, u32 stack, s64 count, s64 bytes)
{
	struct intake *in = context;
	struct span_context none = {0};
	u32 nobody;

	if (stack < in->tally.stacks.n && !tally_context(&in->tally, &none, &nobody))
		tally_add(&in->tally, SAMPLE_LIVE, stack, nobody, count, bytes);
}

void intake_count_live(struct intake *in)
{
	if (in->settings->types & SDK_HEAP)
		live_each(count_live, in);
}

u64 intake_place(const struct intake *in, u64 address)
{
	return place_in(loaded_place(in->loaded, address), address);
}
