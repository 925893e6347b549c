/*
 * A pool of buffers for request bodies: each of 10,000 connections cannot own one, and new memory
 * for every upload would cause page faults. Belongs to one loop; not thread safe.
 */
#pragma once

#include "base/buf.h"

#define BUF_POOL_SLOTS 8
#define BUF_POOL_MAX   (256u << 10) /* larger buffers are freed */

struct buf_pool {
	struct buf slots[BUF_POOL_SLOTS];
	size_t n;
};

void buf_pool_release(struct buf_pool *p);
/* An empty buffer with that ceiling, perhaps with memory from the pool. */
struct buf buf_pool_get(struct buf_pool *p, size_t ceiling);
/* Returns the memory of `b` to the pool. */
void buf_pool_put(struct buf_pool *p, struct buf *b);
