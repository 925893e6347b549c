/*
 * Spans that ended, told to the background: only those in which a sample was taken, and only where
 * samples wait for that (control_keeps). No lock; what finds no room is counted.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>

#include "unwind/unwind_format.h"

struct span_end {
	s64 from, to; /* monotonic */
	u32 thread;   /* its number */
	bool failed;
	bool outermost; /* the thread is in no span any more */
};

#define SPAN_ENDS_MAX 1024u

/* Whether anybody wants to know. */
extern atomic_bool span_ends_wanted;

void span_ends_add(const struct span_end *e);
/* Takes out up to `max`; returns how many. Background thread only. */
u32 span_ends_take(struct span_end *ret, u32 max);
/* In the child of fork(): those of other threads never come. */
void span_ends_reset(void);
