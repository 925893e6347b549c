/*
 * Bytes to be sent: small pieces are copied together, large ones are not copied. All zero is a
 * valid empty queue. Not thread safe.
 */
#pragma once

#include <sys/uio.h>

#include "base/buf.h"
#include "base/memory_budget.h"

struct outpart;

struct outqueue {
	struct outpart *first, *last;
	size_t bytes;	/* not yet sent */
	enum err error; /* the first failure; nothing was added after it */
};

void outqueue_release(struct outqueue *q);
/* Copies. */
void outqueue_copy(struct outqueue *q, struct str bytes);
/* Takes over the memory of `b` and leaves it empty, also on failure; takes over its charge `hold`,
 * too, until it is sent. `hold` may be NULL. */
void outqueue_take(struct outqueue *q, struct buf *b, struct memory_hold *hold);
/* `bytes` must outlive the queue. */
void outqueue_static(struct outqueue *q, struct str bytes);
/* The first bytes as up to `max` pieces; returns how many. */
int outqueue_view(const struct outqueue *q, struct iovec *parts, int max);
/* The first n bytes were sent. */
void outqueue_sent(struct outqueue *q, size_t n);
