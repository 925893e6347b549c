/* What own_events.c (the rings, what is in them) and own_follow.c (who is followed) share. */
#pragma once

#include "agent/own_events.h"
#include "agent/own_rings.h"
#include "agent/own_tasks.h"
#include "base/vec.h"

struct own_root {
	int *fds; /* one per ring; NULL = the place is free */
};

struct own_events {
	struct own_options options;
	struct own_rings rings;
	struct own_tasks tasks;
	VEC(struct own_root) roots;
	VEC(u32) unused; /* places in roots */
	struct buf sample;
	struct kernel_counters counters;
	bool kernel; /* this user may see the kernel's part */
	bool on;
	int64_t next_scan;
	u64 random; /* the periods' */
	/* While draining. */
	struct sideband *side_band;
	void *context;
	enum err (*record)(void *context, const struct record_head *head, size_t size);
};

/* Whether this user may see the kernel's part of stacks. */
bool own_kernel_allowed(void);
void own_roots_close(struct own_events *o);
/* A thread ended: what was opened for it is closed when nobody inherited it. */
enum err own_forget(struct own_events *o, u32 tid) MUST_CHECK;
/* Follows processes that began since it was asked last, when it is time again. */
enum err own_scan(struct own_events *o) MUST_CHECK;
/* The clock by which the kernel tells when processes began. */
u64 own_boot_time(void);
