/*
 * Reports ended spans to the background thread: only spans with samples, and only if samples are
 * held for that (control_keeps). Lock-free; if there is no room, the span is counted.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>

#include "unwind/unwind_format.h"

struct span_end {
	s64 from, to; /* monotonic */
	u32 thread;   /* its number */
	bool failed;
	bool outermost; /* the thread is in no other span */
};

#define SPAN_ENDS_MAX 1024u

/* Whether they are needed. */
extern atomic_bool span_ends_wanted;

void span_ends_add(const struct span_end *e);
/* Removes up to `max`; returns how many. Background thread only. */
u32 span_ends_take(struct span_end *ret, u32 max);
/* In the child of fork(): drops those of other threads. */
void span_ends_reset(void);
