/*
 * The online CPUs. CPUs come and go while the agent runs (hotplug in guests, suspend), and a perf
 * event does not survive the absence of its CPU.
 */
#pragma once

#include "base/err.h"
#include "base/str.h"
#include "unwind/unwind.h"

#define PROCESSORS_MAX 8192

struct processors {
	u64 bits[PROCESSORS_MAX / 64];
};

/* Parses a kernel CPU list, "0-3,8". False if it is invalid or has too many CPUs. */
bool processors_parse(struct str text, struct processors *ret);
/* The online CPUs; if the kernel does not report them, all possible ones. */
void processors_read(struct processors *ret);

static inline bool processors_have(const struct processors *p, int cpu)
{
	return cpu >= 0 && cpu < PROCESSORS_MAX && p->bits[cpu / 64] >> cpu % 64 & 1;
}

/*
 * For events opened with PROCESSOR_EVENT_FORMAT: whether the event is still running. It is not if
 * its CPU went offline, even if that came back. `time_before` is the value of the last call.
 */
#define PROCESSOR_EVENT_FORMAT PERF_FORMAT_TOTAL_TIME_ENABLED
bool processor_event_lives(int fd, u64 *time_before);
