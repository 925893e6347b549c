/* The ring buffers of perf events on the user's own processes, one per CPU. */
#pragma once

#include <linux/perf_event.h>

#include "base/buf.h"
#include "base/vec.h"
#include "unwind/unwind_format.h"

struct own_ring {
	int fd, cpu;
	struct perf_event_mmap_page *page; /* followed by the data */
};

struct own_rings {
	VEC(struct own_ring) list;
	size_t page_size, data_size;
	struct buf record; /* copy of a record that wraps around the end of a ring */
};

/* Allocates rings as large as this user may. */
enum err own_rings_open(struct own_rings *r, struct fault *fault) MUST_CHECK;
void own_rings_close(struct own_rings *r);
/* Passes all records written since the last call. */
enum err own_rings_read(struct own_rings *r, void *context,
			enum err (*take)(void *context,
					 const struct perf_event_header *h)) MUST_CHECK;
/* perf_event_open for one thread and CPU. */
int own_event_open(struct perf_event_attr *attr, u32 tid, int cpu);
