/*
 * Threads that events follow: each belongs to the root whose event it inherited. Known by what the
 * rings tell of beginnings and ends; a root nobody belongs to any more is given up.
 */
#pragma once

#include "base/vec.h"
#include "unwind/unwind_format.h"

struct own_task {
	u32 tid, pid, root;
	char comm[16];
	u64 since; /* CLOCK_BOOTTIME: what was begun by it later inherited its event */
};

struct own_tasks {
	VEC(struct own_task) list; /* sorted by tid */
	VEC(u32) users;		   /* by root */
};

void own_tasks_release(struct own_tasks *t);
struct own_task *own_tasks_find(struct own_tasks *t, u32 tid);
/* One more of a root; one that is known already only changes its root. */
enum err own_tasks_add(struct own_tasks *t, const struct own_task *task) MUST_CHECK;
/* True when its root has none left now. */
bool own_tasks_remove(struct own_tasks *t, u32 tid, u32 *ret_root);
