/*
 * Deadlines of a loop's connections: a binary heap. A timer may be set to a later moment without
 * touching the heap (it is looked at when its old moment comes), so that requests on a busy
 * connection cost nothing here. Not thread safe.
 */
#pragma once

#include "base/vec.h"

struct timer {
	int64_t at_ns; /* when the heap looks at it */
	size_t place;  /* in the heap, plus 1; 0 = not in it */
};

struct timer_heap {
	VEC(struct timer *) items;
};

void timer_heap_release(struct timer_heap *h);
/* Makes sure that `count` timers fit, so that setting them cannot fail. */
enum err timer_heap_reserve(struct timer_heap *h, size_t count) MUST_CHECK;
/* At `at_ns` or earlier; INT64_MAX: whenever it was to be looked at before, if at all. */
void timer_set(struct timer_heap *h, struct timer *t, int64_t at_ns);
void timer_remove(struct timer_heap *h, struct timer *t);
/* The earliest moment, INT64_MAX when there is none. */
int64_t timer_heap_next(const struct timer_heap *h);
/* Takes out a timer whose moment has come; NULL: none. */
struct timer *timer_heap_pop(struct timer_heap *h, int64_t now_ns);
