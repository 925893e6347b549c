/*
 * The signal handler stores stacks here: slots of fixed size, each used by one handler at a time. A
 * handler that finds the next slot in use drops its sample and counts it. Nothing is allocated,
 * locked or waited for in the handler.
 */
#pragma once

#include <stdatomic.h>

#include "base/err.h"

#define SAMPLE_MAX_FRAMES 128

struct sample {
	atomic_int state;
	uint32_t frame_count;
	uint32_t weight;		     /* number of timer periods */
	uintptr_t frames[SAMPLE_MAX_FRAMES]; /* inside the instruction, leaf first */
};

/* Installs the handler of SIGPROF. Fails if another one is installed. */
enum err sample_ring_open(size_t slots, struct fault *fault) MUST_CHECK;
/* Waits for running handlers, and restores the previous action of SIGPROF. Timers must have been
 * deleted. */
void sample_ring_close(void);
/* Calls `each` for every sample and frees its slot. */
enum err sample_ring_drain(enum err (*each)(void *context, const struct sample *s),
			   void *context) MUST_CHECK;
uint64_t sample_ring_lost(void);
