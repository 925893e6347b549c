/*
 * Bytes that wait to be sent: small ones copied together, large ones kept where they are.
 * All zero is a valid empty queue. Not thread safe.
 */
#pragma once

#include <sys/uio.h>

#include "base/buf.h"
#include "base/memory_budget.h"

struct outpart;

struct outqueue {
	struct outpart *first, *last;
	size_t bytes;	/* not yet sent */
	enum err error; /* the first failure; what came after it was not added */
};

void outqueue_release(struct outqueue *q);
/* Copies. */
void outqueue_copy(struct outqueue *q, struct str bytes);
/* Takes the memory of `b` over and leaves it empty, also on failure; with it what is held for it,
 * until it is sent. `hold` may be NULL. */
void outqueue_take(struct outqueue *q, struct buf *b, struct memory_hold *hold);
/* `bytes` live longer than the queue. */
void outqueue_static(struct outqueue *q, struct str bytes);
/* The first bytes as up to `max` pieces; returns how many. */
int outqueue_view(const struct outqueue *q, struct iovec *parts, int max);
/* The first n bytes were sent. */
void outqueue_sent(struct outqueue *q, size_t n);
