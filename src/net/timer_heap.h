/*
 * Deadlines of a loop's connections: a binary heap. Setting a timer to a later time does not change
 * the heap (it is re-inserted at its old time), so that requests on a busy connection are cheap.
 * Not thread safe.
 */
#pragma once

#include "base/vec.h"

struct timer {
	int64_t at_ns; /* its time in the heap */
	size_t place;  /* in the heap, plus 1; 0 = not in it */
};

struct timer_heap {
	VEC(struct timer *) items;
};

void timer_heap_release(struct timer_heap *h);
/* Reserves room for `count` timers, so that setting them cannot fail. */
enum err timer_heap_reserve(struct timer_heap *h, size_t count) MUST_CHECK;
/* It expires at `at_ns` or earlier; INT64_MAX: at its previous time, if any. */
void timer_set(struct timer_heap *h, struct timer *t, int64_t at_ns);
void timer_remove(struct timer_heap *h, struct timer *t);
/* The earliest time; INT64_MAX if there is none. */
int64_t timer_heap_next(const struct timer_heap *h);
/* Removes an expired timer; NULL: none. */
struct timer *timer_heap_pop(struct timer_heap *h, int64_t now_ns);
