/* Children of fork(): what they inherit, what they leave behind, and when their thread begins. */
#include <pthread.h>

#include "sdk/alloc_sampler.h"
#include "sdk/asks.h"
#include "sdk/background_state.h"
#include "sdk/cpu_sampler.h"
#include "sdk/label_sets.h"
#include "sdk/lock_holder.h"
#include "sdk/control_listener.h"
#include "sdk/own_threads.h"
#include "sdk/post_tls.h"
#include "sdk/sampling.h"
#include "sdk/shared_context.h"
#include "sdk/span_ends.h"

static struct background_state *const state = &background_state;

static void before_fork(void)
{
	post_tls_before_fork();
	label_sets_before_fork();
	sampling_before_fork();
	threads_before_fork();
	loaded_before_fork();
}

static void in_parent(void)
{
	loaded_after_fork(&background_loaded, false);
	threads_after_fork(false);
	sampling_after_fork(false, true);
	label_sets_after_fork();
	post_tls_after_fork();
}

/* The child has no such thread, and its unfinished work never ends: all of its state is
 * abandoned. */
static void in_child(void)
{
	bool goes_on = state->follow && (state->it || state->dormant);

	cpu_after_fork();
	alloc_after_fork();
	process_context_after_fork();
	sample_slots_reset();
	span_ends_reset();
	post_tls_after_fork();
	loaded_after_fork(&background_loaded, true);
	threads_after_fork(true);
	label_sets_after_fork();
	listener_after_fork();
	asks_after_fork();
	holder_after_fork();
	state->it = NULL;
	state->stop = state->done = false;
	/* Many children end, or become another program, before they are worth a thread. */
	state->dormant = goes_on;
	if (goes_on) {
		cpu_set_notify(alloc_interrupt);
		(void)threads_self();
	}
	sampling_after_fork(true, goes_on);
}

/* In a child, from an allocation of some thread. */
static void wake(void)
{
	struct background *b;

	if (!atomic_exchange(&state->dormant, false))
		return;
	cpu_set_notify(NULL);
	if (background_new(&state->settings, &b)) {
		sampling_end();
		return;
	}
	if (thread_start(&b->thread, "vestal", background_run, b)) {
		sampling_end();
		background_free(b);
		return;
	}
	state->it = b;
	threads_use_events();
}

static void hurry(void)
{
	if (state->dormant)
		wake();
	background_ring();
}

enum err background_fork_prepare(void)
{
	if (pthread_atfork(before_fork, in_parent, in_child) != 0)
		return ERR_NO_MEMORY;
	alloc_set_helper(wake);
	alloc_set_hurry(hurry);
	return ERR_OK;
}
