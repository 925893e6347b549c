/* Stopping: by vestal_stop(), or at exit. */
#include "base/clock.h"
#include "sdk/alloc_sampler.h"
#include "sdk/background_state.h"
#include "sdk/cpu_sampler.h"
#include "sdk/control_listener.h"
#include "sdk/own_threads.h"
#include "sdk/sampling.h"

static struct background_state *const state = &background_state;

/* Adds the CPU time of the calling thread since its last sample. Do not send a request for a
 * program without samples; but a file has all of it. */
static void settle_caller(const struct sdk_settings *s)
{
	threads_stop();
	if (threads_known() && s->types & SDK_TIMERS && (cpu_samples() || s->output[0]))
		cpu_settle(threads_known());
	if (threads_known())
		wall_settle(threads_known());
	sampling_end();
}

/* A child that never had a thread does its work itself. */
static void stop_dormant(u32 limit_ms)
{
	struct background *b;

	if (background_new(&state->settings, &b))
		return;
	state->no_later = clock_monotonic_ns() + (int64_t)limit_ms * NS_PER_MS;
	background_finish(b);
	background_free(b);
}

/* A name service that hangs must not keep the program from ending. */
static bool wait_for_end(int64_t limit)
{
	state->no_later = limit;
	state->stop = true;
	background_ring();
	while (!state->done && clock_monotonic_ns() < limit + NS_PER_S) {
		u32 heard = state->bell;

		if (!state->done)
			background_sleep(heard, limit + NS_PER_S);
	}
	return state->done;
}

void background_stop(u32 limit_ms)
{
	struct background *b = state->it;
	bool before = alloc_ignored;

	if (!b && !state->dormant)
		return;
	alloc_ignored = true;
	listener_stop();
	settle_caller(&state->settings);
	state->it = NULL;
	if (!b) {
		state->dormant = false;
		stop_dormant(limit_ms);
	} else if (wait_for_end(clock_monotonic_ns() + (int64_t)limit_ms * NS_PER_MS)) {
		thread_join(&b->thread);
		background_free(b);
	}
	alloc_ignored = before;
}
