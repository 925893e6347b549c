/* Shared by own_events.c (rings and records) and own_follow.c (which processes are followed). */
#pragma once

#include "agent/own_events.h"
#include "agent/own_rings.h"
#include "agent/own_tasks.h"
#include "base/vec.h"

struct own_root {
	int *fds; /* one per ring; NULL = unused */
};

struct own_events {
	struct own_options options;
	struct own_rings rings;
	struct own_tasks tasks;
	VEC(struct own_root) roots;
	VEC(u32) unused; /* used entries of `roots` */
	struct buf sample;
	struct kernel_counters counters;
	bool kernel; /* this user may see kernel stacks */
	bool on;
	int64_t next_scan;
	u64 random; /* for random periods */
	/* Set while draining. */
	struct sideband *side_band;
	void *context;
	enum err (*record)(void *context, const struct record_head *head, size_t size);
};

/* Whether this user may see kernel stacks. */
bool own_kernel_allowed(void);
void own_roots_close(struct own_events *o);
/* Handles the exit of a thread: closes its events if no thread inherited them. */
enum err own_forget(struct own_events *o, u32 tid) MUST_CHECK;
/* Follows processes that started since the last call, if that is due. */
enum err own_scan(struct own_events *o) MUST_CHECK;
/* The clock of process start times in /proc. */
u64 own_boot_time(void);
