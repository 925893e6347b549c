/*
 * A sample of a perf event on a process of one's own, as a record like those of the kernel side.
 */
#pragma once

#include <linux/perf_event.h>

#include "base/buf.h"
#include "bpf/records.h"

/* What an event must ask for so that own_sample_parse understands its samples. */
#define OWN_SAMPLE_TYPE                                                                    \
	(PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_PERIOD | PERF_SAMPLE_REGS_USER | \
	 PERF_SAMPLE_STACK_USER)
/* rax to rip and r8 to r15 in the kernel's own order of registers. */
#define OWN_SAMPLE_REGISTERS 0xff01ffull

/*
 * Puts a record with registers and stack (RECORD_RAW) into `to`, without the thread's name;
 * `chain`: the kernel's frames were asked for too. False: that is no sample.
 */
bool own_sample_parse(const struct perf_event_header *h, bool chain, struct buf *to);
