#include "sdk/background.h"

#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/thread.h"
#include "sdk/alloc_sampler.h"
#include "sdk/cpu_sampler.h"
#include "sdk/harvest.h"
#include "sdk/label_sets.h"
#include "sdk/live_objects.h"
#include "sdk/outlet.h"
#include "sdk/shared_context.h"
#include "sdk/stack_walk.h"

#define TURN_NS	      (100 * NS_PER_MS)
/* With many threads a look at all of them is dear. */
#define LOOK_SLOW_NS  NS_PER_S
#define LOOK_FEW      64u
/* Stacks that are kept from one interval to the next. */
#define STACKS_MAX    65536u
/* What a program's end waits for a server. */
#define EXIT_LIMIT_MS 1000

struct background {
	struct sdk_settings settings;
	struct place_names names;
	struct tally tally;
	struct outlet outlet;
	struct thread thread;
	int64_t window_start, window_end; /* monotonic */
	int64_t window_wall, next_look;
};

/* Signal handlers walk by its tables: it stays, whatever begins and ends. */
static struct loaded loaded;

/* Beside what the thread alone uses: how it is told to end, and that it has. */
static struct {
	struct background *it; /* NULL = none */
	/* Counts up when there is something to do, or it is done: what a thread sleeps on. No lock:
	 * one that another thread holds at fork() is held for ever in the child. */
	_Atomic(u32) bell;
	atomic_bool stop, done;
	bool announced;	 /* threads tell of themselves */
	bool follow;	 /* children go on */
	bool registered; /* fork and exit handlers */
	/* A child that samples, whose thread has not begun. */
	atomic_bool dormant;
	struct sdk_settings settings; /* of such a child */
	_Atomic(int64_t) no_later;    /* 0 = it does not end yet */
	atomic_uint_least64_t lost, delivered, given_up;
} state;

/* ------------------------------------------------------------------ samples */

static u64 place_of(u64 address)
{
	const struct loaded_range *r = loaded_place(&loaded, address);

	if (!r)
		return address & PLACE_ADDRESS;
	return (u64)(r->module + 1) << PLACE_MODULE_SHIFT | ((address - r->bias) & PLACE_ADDRESS);
}

static bool is_own(u64 place)
{
	u64 module = place >> PLACE_MODULE_SHIFT;

	return module && module <= loaded.modules.n && loaded.modules.v[module - 1]->own;
}

/* Addresses to places. A return address may be the first byte of the next function. */
static u32 places_of(const struct taken_sample *s, const u64 *frames, u32 n, u64 *places)
{
	u32 count = 0;

	if (s->settled)
		places[count++] = PLACE_NOT_SAMPLED;
	for (u32 i = 0; i < n; i++) {
		bool call = i > 0 || s->from_call;
		u64 place = place_of(frames[i] - (call ? 1 : 0));

		/* The way from malloc to here is nobody's business. */
		if (!count && s->kind == SAMPLE_ALLOC && is_own(place))
			continue;
		places[count++] = place;
	}
	return count;
}

static void count_sample(struct background *b, const struct taken_sample *s, const u64 *frames,
			 u32 n)
{
	u64 places[SAMPLE_FRAMES_MAX + 1];
	u32 count = places_of(s, frames, n, places), stack, context;

	if (tally_stack(&b->tally, places, count, &stack) ||
	    tally_context(&b->tally, &s->context, &context)) {
		b->tally.lost++;
		return;
	}
	if (s->kind == SAMPLE_CPU || b->settings.types & SDK_ALLOC)
		tally_add(&b->tally, s->kind, stack, context, s->count, s->value);
	if (s->object)
		live_set_stack(s->object, s->serial, stack);
}

static void on_walked(void *context, const struct taken_sample *s)
{
	count_sample(context, s, s->frames, s->frame_count);
}

static void on_raw(void *context, const struct taken_sample *s)
{
	u64 frames[SAMPLE_FRAMES_MAX];
	struct background *b = context;
	u8 end;
	u32 n = raw_stack_walk(loaded_current(), s->raw, frames, b->settings.depth, &end);

	/* The copy ends somewhere; what was walked in place may have come further. */
	if (n > s->frame_count)
		count_sample(b, s, frames, n);
	else
		count_sample(b, s, s->frames, s->frame_count);
}

/* First those that are whole, by the modules they were walked with; then what is new is looked at,
 * and those that wait for it. */
static void take_samples(void *context)
{
	struct background *b = context;

	sample_slots_drain(false, on_walked, b);
	/* What cannot be looked at now is looked at in the next turn. */
	(void)!loaded_update(&loaded);
	if (loaded_current())
		sample_slots_drain(true, on_raw, b);
	b->outlet.no_later = state.no_later;
	if (b->outlet.no_later && b->outlet.deadline_ns > b->outlet.no_later)
		b->outlet.deadline_ns = b->outlet.no_later;
}

static void look_for_threads(struct background *b, int64_t now)
{
	if (state.announced || now < b->next_look)
		return;
	/* Without /proc those that are known go on. */
	(void)!threads_look();
	b->next_look = now + (threads_count() > LOOK_FEW ? LOOK_SLOW_NS : 0);
}

/* ------------------------------------------------------------------ profiles */

static void count_live(void *context, u32 stack, s64 count, s64 bytes)
{
	struct background *b = context;
	struct span_context none = {0};
	u32 nobody;

	if (stack < b->tally.stacks.n && !tally_context(&b->tally, &none, &nobody))
		tally_add(&b->tally, SAMPLE_LIVE, stack, nobody, count, bytes);
}

static void deliver(struct background *b, const struct harvest_window *w)
{
	struct profile_list list = {0};
	struct profile *one = NULL;
	struct dict d = {0};
	bool file = b->settings.output[0];
	enum err e = dict_init(&d, (u64)w->start_ns);

	if (!e && file) {
		e = profile_list_add(&list, &d, &one);
		if (!e)
			e = harvest_one(&b->tally, &b->names, &b->settings, w, one);
	} else if (!e) {
		e = harvest_profiles(&b->tally, &b->names, &b->settings, w, &d, &list);
	}
	if (!e && file)
		outlet_save(&b->outlet, &list);
	else if (!e && list.n)
		outlet_send(&b->outlet, &list);
	else if (e)
		b->outlet.given_up++;
	profile_list_release(&list);
	dict_release(&d);
	place_names_end(&b->names);
}

static void begin_window(struct background *b)
{
	b->window_start = clock_monotonic_ns();
	b->window_end = b->window_start + (int64_t)b->settings.interval_ms * NS_PER_MS;
	b->window_wall = clock_wall_ns();
}

static void end_window(struct background *b)
{
	struct harvest_window w = {b->window_wall, clock_monotonic_ns() - b->window_start};

	if (b->settings.types & SDK_HEAP)
		live_each(count_live, b);
	if (b->tally.rows.n)
		deliver(b, &w);
	tally_clear(&b->tally);
	/* Watched objects hold numbers of stacks. */
	if (b->tally.stacks.n > STACKS_MAX && !(b->settings.types & SDK_HEAP))
		tally_clear_stacks(&b->tally);
	begin_window(b);
}

static void publish_counts(struct background *b)
{
	state.lost = sample_slots_lost() + b->tally.lost + live_lost();
	state.delivered = b->outlet.delivered;
	state.given_up = b->outlet.given_up;
}

/* ------------------------------------------------------------------ the thread */

static void ring(void)
{
	atomic_fetch_add(&state.bell, 1);
	syscall(SYS_futex, &state.bell, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

/* Until the bell rings after `heard`, or the time has come. */
static void sleep_until(u32 heard, int64_t when)
{
	int64_t left = when - clock_monotonic_ns();
	struct timespec time = {left / NS_PER_S, left % NS_PER_S};

	if (left > 0)
		syscall(SYS_futex, &state.bell, FUTEX_WAIT_PRIVATE, heard, &time, NULL, 0);
}

static void turn(struct background *b)
{
	int64_t now = clock_monotonic_ns();

	take_samples(b);
	look_for_threads(b, now);
	if (b->settings.types & SDK_CPU && !cpu_still_ours())
		cpu_stop();
	if (now >= b->window_end && outlet_by_interval(&b->outlet))
		end_window(b);
	outlet_turn(&b->outlet, false);
	publish_counts(b);
}

/* What there is goes out. */
static void finish(struct background *b)
{
	take_samples(b);
	end_window(b);
	outlet_turn(&b->outlet, true);
	publish_counts(b);
}

static void run(void *context)
{
	struct background *b = context;

	alloc_ignored = true;
	threads_exclude_self();
	/* Others can live without it. */
	(void)!process_context_publish(&b->settings);
	while (!state.stop) {
		u32 heard = state.bell;

		turn(b);
		if (!state.stop)
			sleep_until(heard, clock_monotonic_ns() + TURN_NS);
	}
	finish(b);
	state.done = true;
	ring();
}

static void background_free(struct background *b)
{
	outlet_release(&b->outlet);
	tally_release(&b->tally);
	place_names_release(&b->names);
	mem_free(b);
}

/* ------------------------------------------------------------------ fork, exit */

static void before_fork(void)
{
	label_sets_before_fork();
	threads_before_fork();
	loaded_before_fork();
}

static void in_parent(void)
{
	loaded_after_fork(&loaded, false);
	threads_after_fork(false);
	label_sets_after_fork();
}

/* The thread is not there, and what it was doing never ends: all of that is left behind. */
static void in_child(void)
{
	bool goes_on = state.follow && (state.it || state.dormant);

	cpu_after_fork();
	alloc_after_fork();
	process_context_after_fork();
	sample_slots_reset();
	loaded_after_fork(&loaded, true);
	threads_after_fork(true);
	label_sets_after_fork();
	state.it = NULL;
	state.stop = state.done = false;
	if (!goes_on)
		return;
	/* Many children end, or become another program, before they are worth a thread. */
	state.dormant = true;
	cpu_set_notify(alloc_interrupt);
	(void)threads_self();
	if (state.settings.types & SDK_CPU &&
	    cpu_start(state.settings.rate_hz, state.settings.depth, NULL))
		state.dormant = false;
}

static void at_exit(void)
{
	background_stop(EXIT_LIMIT_MS);
}

/* ------------------------------------------------------------------ start and stop */

static enum err background_new(const struct sdk_settings *s, struct background **ret)
{
	struct background *b = mem_zalloc(1, sizeof(*b));

	if (!b)
		return ERR_NO_MEMORY;
	b->settings = *s;
	place_names_init(&b->names, &loaded);
	tally_init(&b->tally, s->max_rows);
	outlet_init(&b->outlet, &b->settings);
	b->outlet.idle = take_samples;
	b->outlet.context = b;
	begin_window(b);
	*ret = b;
	return ERR_OK;
}

/* In a child, from an allocation of some thread. */
static void wake(void)
{
	struct background *b = NULL;

	if (!atomic_exchange(&state.dormant, false))
		return;
	cpu_set_notify(NULL);
	if (background_new(&state.settings, &b) || thread_start(&b->thread, "vestal", run, b)) {
		cpu_stop();
		return;
	}
	state.it = b;
}

static void hurry(void)
{
	if (state.dormant)
		wake();
	ring();
}

static enum err prepare(void)
{
	if (!sample_slots_open() || !threads_open())
		return ERR_NO_MEMORY;
	if (state.registered)
		return ERR_OK;
	if (pthread_atfork(before_fork, in_parent, in_child) != 0 || atexit(at_exit) != 0)
		return ERR_NO_MEMORY;
	stack_walk_prepare();
	alloc_set_helper(wake);
	alloc_set_hurry(hurry);
	state.registered = true;
	return ERR_OK;
}

static enum err begin(struct background *b, struct fault *fault)
{
	const struct sdk_settings *s = &b->settings;

	TRY(prepare());
	state.stop = state.done = false;
	state.no_later = 0;
	state.settings = *s;
	if (s->types & (SDK_ALLOC | SDK_HEAP)) {
		if (!alloc_start(s->alloc_interval, s->depth, s->types & SDK_HEAP))
			return ERR_NO_MEMORY;
	} else {
		alloc_stop();
	}
	if (s->types & SDK_CPU)
		TRY(cpu_start(s->rate_hz, s->depth, fault));
	(void)threads_self();
	return thread_start(&b->thread, "vestal", run, b);
}

enum err background_start(const struct sdk_settings *s, struct fault *fault)
{
	struct background *b;
	enum err e;

	if (state.it || state.dormant)
		return fault_set(fault, ERR_EXISTS, "this process is being profiled already");
	TRY(background_new(s, &b));
	e = begin(b, fault);
	if (e) {
		cpu_stop();
		alloc_stop();
		background_free(b);
		return e;
	}
	state.it = b;
	return ERR_OK;
}

/* What the calling thread used since its last sample. A program that was never sampled is not worth
 * a request; in a file all of it counts. */
static void settle_caller(const struct sdk_settings *s)
{
	threads_stop();
	if (threads_known() && s->types & SDK_CPU && (cpu_samples() || s->output[0]))
		cpu_settle(threads_known());
	cpu_stop();
	alloc_stop();
}

/* A child that never had a thread does its work itself. */
static void stop_dormant(u32 limit_ms)
{
	struct background *b;

	if (background_new(&state.settings, &b))
		return;
	state.no_later = clock_monotonic_ns() + (int64_t)limit_ms * NS_PER_MS;
	finish(b);
	background_free(b);
}

/* A name service that hangs must not keep the program from ending. */
static bool wait_for_end(int64_t limit)
{
	state.no_later = limit;
	state.stop = true;
	ring();
	while (!state.done && clock_monotonic_ns() < limit + NS_PER_S) {
		u32 heard = state.bell;

		if (!state.done)
			sleep_until(heard, limit + NS_PER_S);
	}
	return state.done;
}

void background_stop(u32 limit_ms)
{
	struct background *b = state.it;
	bool before = alloc_ignored;

	if (!b && !state.dormant)
		return;
	alloc_ignored = true;
	settle_caller(&state.settings);
	state.it = NULL;
	if (!b) {
		state.dormant = false;
		stop_dormant(limit_ms);
	} else if (wait_for_end(clock_monotonic_ns() + (int64_t)limit_ms * NS_PER_MS)) {
		thread_join(&b->thread);
		background_free(b);
	}
	alloc_ignored = before;
}

void background_follow_children(void)
{
	state.follow = true;
}

bool background_running(void)
{
	return state.it != NULL;
}

void background_threads_announced(void)
{
	state.announced = true;
}

struct background_counts background_counts(void)
{
	return (struct background_counts){cpu_samples(), state.lost, state.delivered,
					  state.given_up};
}
