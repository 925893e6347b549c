#include "sdk/background.h"

#include <limits.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "sdk/alloc_sampler.h"
#include "sdk/asks.h"
#include "sdk/background_state.h"
#include "sdk/cpu_sampler.h"
#include "sdk/control_listener.h"
#include "sdk/live_objects.h"
#include "sdk/lock_holder.h"
#include "sdk/lock_sampler.h"
#include "sdk/own_threads.h"
#include "sdk/post_tls.h"
#include "sdk/sampling.h"
#include "sdk/shared_context.h"
#include "sdk/stack_walk.h"
#include "sdk/switch_signal.h"

#define TURN_NS	      (200 * NS_PER_MS)
/* From one look for threads to the next, where they do not say that they begin. */
#define LOOK_NS	      (100 * NS_PER_MS)
/* From one count of all threads to the next. */
#define COUNT_NS      NS_PER_S
/* With many threads a look at all of them is dear. */
#define LOOK_SLOW_NS  NS_PER_S
#define LOOK_FEW      64u
/* How long exit waits for the server. */
#define EXIT_LIMIT_MS 1000
/* Distinct stacks since the start, for requests. */
#define TOTALS_MAX    65536u

struct loaded background_loaded;
struct background_state background_state;
static struct background_state *const state = &background_state;

/* ------------------------------------------------------------------ a turn */

/* Also called while something is being sent. */
static void take_samples(void *context)
{
	struct background *b = context;
	struct outlet *o = &b->windows.outlet;

	intake_take(&b->intake, state->stop);
	if (b->settings.control.signal_number)
		switch_signal_turn();
	governor_turn(&b->governor, &b->settings);
	asks_turn(b, state->stop);
	o->no_later = state->no_later;
	if (o->no_later && o->deadline_ns > o->no_later)
		o->deadline_ns = o->no_later;
}

static void look_for_threads(struct background *b, int64_t now)
{
	bool all = b->settings.types & (SDK_WALL | SDK_THREADS);

	/* Threads that did not register themselves are found here, if all must be reported. */
	if ((state->announced && !all) || now < b->next_look)
		return;
	/* Without /proc those that are known go on. */
	(void)!threads_look();
	b->next_look = now + (state->announced || threads_count() > LOOK_FEW ? LOOK_SLOW_NS : 0);
}

static void look_at_threads(struct background *b, int64_t now, bool last)
{
	b->wall.silent = sampling_paused();
	if (b->settings.types & SDK_WALL)
		wall_round(&b->wall, last);
	if (b->settings.types & SDK_THREADS && !b->wall.silent &&
	    (!b->wall.counted_ns || (!last && now >= b->wall.counted_ns + COUNT_NS)))
		wall_count(&b->wall);
}

/* Rounds of wall time are at random times. */
static int64_t pause_of(struct background *b)
{
	if (b->settings.types & SDK_WALL)
		return wall_pause(&b->wall);
	return state->announced || threads_count() > LOOK_FEW ? TURN_NS : LOOK_NS;
}

static void publish_counts(struct background *b)
{
	state->lost = sample_slots_lost() + b->intake.tally.lost + live_lost();
	state->delivered = b->windows.outlet.delivered;
	state->given_up = b->windows.outlet.given_up;
}

static void turn(struct background *b)
{
	int64_t now = clock_monotonic_ns();

	take_samples(b);
	look_for_threads(b, now);
	look_at_threads(b, now, false);
	holder_turn(&background_loaded);
	if (now - b->locks_looked >= TURN_NS) {
		lock_turn(now - b->locks_looked);
		b->locks_looked = now;
	}
	if (cpu_taken_over())
		cpu_stop();
	if (windows_due(&b->windows, now))
		windows_end(&b->windows);
	outlet_turn(&b->windows.outlet, false);
	publish_counts(b);
}

void background_finish(struct background *b)
{
	take_samples(b);
	intake_take(&b->intake, true);
	look_at_threads(b, clock_monotonic_ns(), true);
	windows_end(&b->windows);
	outlet_turn(&b->windows.outlet, true);
	publish_counts(b);
}

/* ------------------------------------------------------------------ the thread */

void background_ring(void)
{
	atomic_fetch_add(&state->bell, 1);
	syscall(SYS_futex, &state->bell, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

void background_sleep(u32 heard, int64_t when)
{
	int64_t left = when - clock_monotonic_ns();
	struct timespec time = {left / NS_PER_S, left % NS_PER_S};

	if (left > 0)
		syscall(SYS_futex, &state->bell, FUTEX_WAIT_PRIVATE, heard, &time, NULL, 0);
}

void background_run(void *context)
{
	struct background *b = context;

	alloc_ignored = true;
	threads_exclude_self();
	/* Others can live without it. */
	(void)!process_context_publish(&b->settings);
	while (!state->stop) {
		u32 heard = state->bell;

		turn(b);
		if (!state->stop)
			background_sleep(heard, clock_monotonic_ns() + pause_of(b));
	}
	background_finish(b);
	state->done = true;
	background_ring();
}

/* ------------------------------------------------------------------ start */

enum err background_new(const struct sdk_settings *s, struct background **ret)
{
	struct background *b = mem_zalloc(1, sizeof(*b));

	if (!b)
		return ERR_NO_MEMORY;
	b->settings = *s;
	b->intake.loaded = &background_loaded;
	b->intake.settings = &b->settings;
	b->intake.keep_totals = b->settings.control.listen[0];
	tally_init(&b->intake.totals, TOTALS_MAX);
	governor_init(&b->governor);
	b->start_wall = clock_wall_ns();
	tally_init(&b->intake.tally, s->max_rows);
	kept_samples_init(&b->intake.kept, &b->settings, &b->intake.tally);
	wall_init(&b->wall, &b->intake.tally, s->depth, s->types & SDK_WALL);
	b->wall.number = intake_number;
	b->wall.loaded = &background_loaded;
	b->wall.context = &b->intake;
	b->intake.wall = &b->wall;
	windows_init(&b->windows, &b->settings, &b->intake);
	b->windows.outlet.idle = take_samples;
	b->windows.outlet.context = b;
	*ret = b;
	return ERR_OK;
}

void background_free(struct background *b)
{
	windows_release(&b->windows);
	kept_samples_release(&b->intake.kept);
	wall_release(&b->wall);
	tally_release(&b->intake.tally);
	tally_release(&b->intake.totals);
	mem_free(b);
}

static void at_exit(void)
{
	background_stop(EXIT_LIMIT_MS);
}

/* OpenSSL has an exit handler; ours must run first, so it is registered after it. */
static void end_before_openssl(void)
{
	/* Without room the last profile is not sent. */
	(void)!atexit(at_exit);
}

static enum err prepare(void)
{
	if (!sample_slots_open() || !threads_open())
		return ERR_NO_MEMORY;
	if (state->registered)
		return ERR_OK;
	TRY(background_fork_prepare());
	if (atexit(at_exit) != 0)
		return ERR_NO_MEMORY;
	stack_walk_prepare();
	stack_walk_set_missed(background_ring);
	sample_slots_set_many(background_ring);
	post_tls_on_load(end_before_openssl);
	state->registered = true;
	return ERR_OK;
}

static enum err begin(struct background *b, struct fault *fault)
{
	const struct sdk_settings *s = &b->settings;

	TRY(prepare());
	state->stop = state->done = false;
	state->no_later = 0;
	state->settings = *s;
	if (s->control.signal_number)
		TRY(switch_signal_begin(s->control.signal_number, fault));
	threads_use_events();
	if (s->types & SDK_LOCK)
		holder_start(cpu_claim_signal(), s->depth, background_ring);
	TRY(sampling_begin(&state->settings, fault));
	(void)threads_self();
	return thread_start(&b->thread, "vestal", background_run, b);
}

/* A variable of the environment is there for every program that this one starts: only the first
 * of them gets the address, and nothing is wrong with that. */
static enum err begin_to_listen(const struct sdk_settings *s, struct fault *fault)
{
	struct fault why = {0};
	enum err e = s->control.listen[0] ? listener_start(s, &why) : ERR_OK;

	if (e && (s->control.listen_asked || e != ERR_EXISTS)) {
		if (fault)
			*fault = why;
		return e;
	}
	return ERR_OK;
}

enum err background_start(const struct sdk_settings *s, struct fault *fault)
{
	struct background *b;
	enum err e;

	if (state->it || state->dormant)
		return fault_set(fault, ERR_EXISTS, "this process is being profiled already");
	if (s->tls && !s->output[0] && !post_tls_possible())
		return fault_set(fault, ERR_UNSUPPORTED,
				 "a program that is linked statically sends to http:// addresses");
	TRY(background_new(s, &b));
	e = begin(b, fault);
	if (e) {
		sampling_end();
		background_free(b);
		return e;
	}
	state->it = b;
	e = begin_to_listen(&state->settings, fault);
	if (e)
		background_stop(0);
	return e;
}

void background_follow_children(void)
{
	state->follow = true;
}

bool background_running(void)
{
	return state->it != NULL;
}

void background_threads_announced(void)
{
	state->announced = true;
}

struct background_counts background_counts(void)
{
	return (struct background_counts){cpu_samples(), state->lost, state->delivered,
					  state->given_up};
}
