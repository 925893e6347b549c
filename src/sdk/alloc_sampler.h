/*
 * Allocations by Poisson sampling: every allocated byte has the same small probability, 1 /
 * `interval`, of making its allocation a sample. A thread draws the distance to its next sample and
 * counts down; until then an allocation costs one subtraction. Each sample is weighted before it is
 * summed (poisson.h).
 */
#pragma once

#include <stdbool.h>

#include "unwind/unwind_format.h"

/* Bytes until the next sample of this thread; 0 before a thread's first allocation. */
extern __thread s64 alloc_left __attribute__((tls_model("initial-exec")));
/* This thread runs library code: its allocations are not sampled. */
extern __thread bool alloc_ignored __attribute__((tls_model("initial-exec")));

/* The caller of an intercepted function. */
struct alloc_caller {
	u64 return_address, stack, frame;
};

/* Use it in the function itself, which must not be inlined, so that it has a frame. */
#define ALLOC_CALLER                                                                       \
	({                                                                                 \
		const u64 *frame_ = __builtin_frame_address(0);                            \
		(struct alloc_caller){frame_[1], (u64)(uintptr_t)(frame_ + 2), frame_[0]}; \
	})

/* With `heap`, tracks sampled objects until they are freed. */
bool alloc_start(u64 interval, u32 depth, bool heap);
/* Stops sampling. */
void alloc_stop(void);
/* Called when the countdown has reached 0: samples the allocation, perhaps, and draws the next
 * distance. */
void alloc_reached(void *object, u64 size, const struct alloc_caller *caller);
/* Defers work that is not async-signal-safe: the thread's next allocation calls alloc_reached(),
 * which calls `helper`. */
void alloc_interrupt(void);
void alloc_set_helper(void (*helper)(void));
/* Called if there is no free slot; the allocation then waits briefly for one. */
void alloc_set_hurry(void (*hurry)(void));
void alloc_after_fork(void);
