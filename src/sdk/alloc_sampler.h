/*
 * Allocations by Poisson sampling: every byte that is allocated has the same small chance, 1 in
 * `interval`, to make its allocation a sample. A thread draws the distance to its next sample once
 * and counts down; until then an allocation costs a subtraction. Each sample is weighted before
 * anything is summed (poisson.h).
 */
#pragma once

#include <stdbool.h>

#include "unwind/unwind_format.h"

/* Bytes until the next sample of this thread; the first allocation of a thread finds 0. */
extern __thread s64 alloc_left __attribute__((tls_model("initial-exec")));
/* This thread is at work for us: nothing it allocates is sampled. */
extern __thread bool alloc_ignored __attribute__((tls_model("initial-exec")));

/* Where a call came from, for a function that is called by the program. */
struct alloc_caller {
	u64 return_address, stack, frame;
};

/* In the function itself, which must not be inlined: it keeps a frame then. */
#define ALLOC_CALLER                                                                       \
	({                                                                                 \
		const u64 *frame_ = __builtin_frame_address(0);                            \
		(struct alloc_caller){frame_[1], (u64)(uintptr_t)(frame_ + 2), frame_[0]}; \
	})

/* With `heap` objects are watched until they are freed. */
bool alloc_start(u64 interval, u32 depth, bool heap);
/* No more samples. */
void alloc_stop(void);
/* The countdown has ended with this allocation: samples it, perhaps, and draws anew. */
void alloc_reached(void *object, u64 size, const struct alloc_caller *caller);
/* Something that cannot be done in a signal handler wants to be done: the thread's next allocation
 * calls alloc_reached(), which calls `helper` then. */
void alloc_interrupt(void);
void alloc_set_helper(void (*helper)(void));
/* Called when there is no room for a sample; an allocation then waits a moment for it. */
void alloc_set_hurry(void (*hurry)(void));
void alloc_after_fork(void);
