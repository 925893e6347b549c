/*
 * Threads followed by perf events: each belongs to the root whose event it inherited. Updated from
 * the starts and exits in the ring buffers; a root without threads is dropped.
 */
#pragma once

#include "base/vec.h"
#include "unwind/unwind_format.h"

struct own_task {
	u32 tid, pid, root;
	char comm[16];
	u64 since; /* CLOCK_BOOTTIME: children started later inherited its event */
};

struct own_tasks {
	VEC(struct own_task) list; /* sorted by tid */
	VEC(u32) users;		   /* by root */
};

void own_tasks_release(struct own_tasks *t);
struct own_task *own_tasks_find(struct own_tasks *t, u32 tid);
/* Adds a thread to a root, or moves a known one. */
enum err own_tasks_add(struct own_tasks *t, const struct own_task *task) MUST_CHECK;
/* True if its root has no threads left. */
bool own_tasks_remove(struct own_tasks *t, u32 tid, u32 *ret_root);
