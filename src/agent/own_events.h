/*
 * What is left without rights over the machine: perf events on processes of one's own. Every thread
 * that is followed has an event per processor, which its children inherit, threads and processes;
 * all events of a processor write into one ring. Samples carry registers and a piece of the stack,
 * which the agent walks. One thread uses it.
 */
#pragma once

#include "agent/sideband.h"
#include "bpf/records.h"

struct own_events;

struct own_options {
	u64 period_ns;
	bool everything; /* all processes of this user, also those that begin later */
};

/* ERR_OK, or why this user may not even look at itself. */
enum err own_events_allowed(struct fault *fault) MUST_CHECK;
enum err own_events_new(const struct own_options *o, struct own_events **ret,
			struct fault *fault) MUST_CHECK;
void own_events_free(struct own_events *o);
/* A process and what it begins from now on; ERR_NO_PERMISSION when it is not one's own. */
enum err own_events_follow(struct own_events *o, u32 pid) MUST_CHECK;
/* Follows nobody any more; from now on everything, or who is given with own_events_follow. */
enum err own_events_begin_anew(struct own_events *o, bool everything) MUST_CHECK;
/* Nothing is sampled before the first time. */
void own_events_switch(struct own_events *o, bool on);
enum err own_events_set_period(struct own_events *o, u64 period_ns) MUST_CHECK;
/* Adds the rings to an epoll instance: readable (EPOLLET) when one is half full. */
enum err own_events_watch(const struct own_events *o, int epoll) MUST_CHECK;
/* Hands out the samples that are there; what processes did goes to the side band. */
enum err own_events_drain(struct own_events *o, struct sideband *side_band, void *context,
			  enum err (*record)(void *context, const struct record_head *head,
					     size_t size)) MUST_CHECK;
void own_events_count(const struct own_events *o, struct kernel_counters *ret);
/* Memory of the rings. */
u64 own_events_bytes(const struct own_events *o);
