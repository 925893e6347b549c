/*
 * Which processors are there now. They come and go while the agent runs (a guest that is given
 * more, a laptop that sleeps), and an event of the kernel does not survive the absence of its
 * processor.
 */
#pragma once

#include "base/err.h"
#include "base/str.h"
#include "unwind/unwind.h"

#define PROCESSORS_MAX 8192

struct processors {
	u64 bits[PROCESSORS_MAX / 64];
};

/* A list of the kernel's kind: "0-3,8". False when it is none, or speaks of too many. */
bool processors_parse(struct str text, struct processors *ret);
/* Those that are online; when the kernel does not say, all that the machine may have. */
void processors_read(struct processors *ret);

static inline bool processors_have(const struct processors *p, int cpu)
{
	return cpu >= 0 && cpu < PROCESSORS_MAX && p->bits[cpu / 64] >> cpu % 64 & 1;
}

/*
 * For events opened with PROCESSOR_EVENT_FORMAT: whether its time goes on. It does not when its
 * processor went away, not even when that came back. `time_before` is what the last look found.
 */
#define PROCESSOR_EVENT_FORMAT PERF_FORMAT_TOTAL_TIME_ENABLED
bool processor_event_lives(int fd, u64 *time_before);
