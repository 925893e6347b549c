/*
 * Off-CPU waits that last longer than a window: each window reports its part. The reported time is
 * stored until the wait ends, so that only the rest is added then.
 */
#pragma once

#include "agent/collector.h"

struct open_wait {
	u64 wait_id;
	u64 told_ns;
};

struct open_waits {
	VEC(struct open_wait) list;
	struct map by_id;
};

void open_waits_release(struct open_waits *w);
/* Nanoseconds of this wait reported in earlier windows. */
u64 open_waits_told(const struct open_waits *w, u64 wait_id);
enum err open_waits_add(struct open_waits *w, u64 wait_id, u64 told_ns) MUST_CHECK;
