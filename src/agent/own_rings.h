/* The rings that perf events on one's own processes write into, one per processor. */
#pragma once

#include <linux/perf_event.h>

#include "base/buf.h"
#include "base/vec.h"
#include "unwind/unwind_format.h"

struct own_ring {
	int fd, cpu;
	struct perf_event_mmap_page *page; /* and the data behind it */
};

struct own_rings {
	VEC(struct own_ring) list;
	size_t page_size, data_size;
	struct buf record; /* one that wraps around a ring's end */
};

/* As large as this user may have them. */
enum err own_rings_open(struct own_rings *r, struct fault *fault) MUST_CHECK;
void own_rings_close(struct own_rings *r);
/* Hands out what was written since the last time. */
enum err own_rings_read(struct own_rings *r, void *context,
			enum err (*take)(void *context,
					 const struct perf_event_header *h)) MUST_CHECK;
/* perf_event_open for one task and processor. */
int own_event_open(struct perf_event_attr *attr, u32 tid, int cpu);
