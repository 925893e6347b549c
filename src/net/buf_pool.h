/*
 * Memory of request bodies, used again: a few buffers that the last requests grew. 10,000
 * connections cannot each own one, and asking the heap for each upload touches fresh pages.
 * Belongs to one loop; not thread safe.
 */
#pragma once

#include "base/buf.h"

#define BUF_POOL_SLOTS 8
#define BUF_POOL_MAX   (256u << 10) /* larger buffers go back to the heap */

struct buf_pool {
	struct buf slots[BUF_POOL_SLOTS];
	size_t n;
};

void buf_pool_release(struct buf_pool *p);
/* An empty buffer with that ceiling, perhaps with memory already. */
struct buf buf_pool_get(struct buf_pool *p, size_t ceiling);
/* Takes the memory of `b`. */
void buf_pool_put(struct buf_pool *p, struct buf *b);
