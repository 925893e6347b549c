/*
 * Where the signal handler puts stacks: slots of fixed size, each taken by one handler at a time.
 * A handler that finds the next slot in use drops its sample and counts it. Nothing is allocated,
 * locked or waited for in the handler.
 */
#pragma once

#include <stdatomic.h>

#include "base/err.h"

#define SAMPLE_MAX_FRAMES 128

struct sample {
	atomic_int state;
	uint32_t frame_count;
	uint32_t weight;		     /* timer periods it stands for */
	uintptr_t frames[SAMPLE_MAX_FRAMES]; /* inside the instruction, leaf first */
};

/* Installs the handler of SIGPROF. Fails when somebody else has one. */
enum err sample_ring_open(size_t slots, struct fault *fault) MUST_CHECK;
/* Waits for handlers under way, and puts back what SIGPROF did before. Timers must be gone. */
void sample_ring_close(void);
/* Calls `each` for every sample that is there and makes its slot free again. */
enum err sample_ring_drain(enum err (*each)(void *context, const struct sample *s),
			   void *context) MUST_CHECK;
uint64_t sample_ring_lost(void);
