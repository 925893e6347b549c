/*
 * Wakers of threads. The record of a waker arrives before that of the wait it ended, and is kept
 * here until then, but not long: a thread that was woken runs soon, or its wait was not sampled.
 */
#pragma once

#include "agent/collector.h"

struct waker {
	u64 wait_id, time;
	struct process *process;
	char thread[16];
	size_t frames_at;
	u32 frame_count;
};

struct wakers {
	VEC(struct waker) list;
	VEC(struct sample_frame) frames;
	struct map by_wait;
};

void wakers_release(struct wakers *w);
/* The process gets one more reference. */
enum err wakers_add(struct wakers *w, u64 wait_id, u64 time, struct process *process,
		    const char thread[16], const struct sample_frame *frames, u32 n) MUST_CHECK;
/* Fills in the waker of a sample, if it is known. Valid until the next change. */
void wakers_find(const struct wakers *w, u64 wait_id, struct sample *ret);
/* Drops entries older than `before`. Call once per turn. */
enum err wakers_settle(struct wakers *w, u64 before) MUST_CHECK;
