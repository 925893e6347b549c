/*
 * Unprivileged mode: perf events on the user's own processes. Every followed thread has an event
 * per CPU, which its children (threads and processes) inherit; all events of a CPU write to one
 * ring buffer. Samples contain registers and a part of the stack, which the agent unwinds. Used by
 * one thread.
 */
#pragma once

#include "agent/sideband.h"
#include "bpf/records.h"

struct own_events;

struct own_options {
	u64 period_ns;
	bool everything; /* all processes of this user, including later ones */
};

/* ERR_OK, or why this user may not even profile its own processes. */
enum err own_events_allowed(struct fault *fault) MUST_CHECK;
enum err own_events_new(const struct own_options *o, struct own_events **ret,
			struct fault *fault) MUST_CHECK;
void own_events_free(struct own_events *o);
/* Follows a process and its future children; ERR_NO_PERMISSION if it belongs to another user. */
enum err own_events_follow(struct own_events *o, u32 pid) MUST_CHECK;
/* Stops following all; from now on follows everything, or the processes passed to
 * own_events_follow. */
enum err own_events_begin_anew(struct own_events *o, bool everything) MUST_CHECK;
/* Starts or pauses sampling; initially paused. */
void own_events_switch(struct own_events *o, bool on);
enum err own_events_set_period(struct own_events *o, u64 period_ns) MUST_CHECK;
/* Adds the rings to an epoll instance: readable (EPOLLET) when one is half full. */
enum err own_events_watch(const struct own_events *o, int epoll) MUST_CHECK;
/* Passes all samples to `record`; process events go to the side band. */
enum err own_events_drain(struct own_events *o, struct sideband *side_band, void *context,
			  enum err (*record)(void *context, const struct record_head *head,
					     size_t size)) MUST_CHECK;
void own_events_count(const struct own_events *o, struct kernel_counters *ret);
/* Memory of the rings. */
u64 own_events_bytes(const struct own_events *o);
