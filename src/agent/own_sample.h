/*
 * Converts samples of perf events on own processes to records like those of the BPF programs.
 */
#pragma once

#include <linux/perf_event.h>

#include "base/buf.h"
#include "bpf/records.h"

/* The attributes that own_sample_parse requires of an event. */
#define OWN_SAMPLE_TYPE                                                                    \
	(PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_PERIOD | PERF_SAMPLE_REGS_USER | \
	 PERF_SAMPLE_STACK_USER)
/* rax to rip and r8 to r15, in the kernel's order of registers. */
#define OWN_SAMPLE_REGISTERS 0xff01ffull

/*
 * Writes a record with registers and stack (RECORD_RAW) to `to`, without the thread's name;
 * `chain`: the sample contains kernel frames. False: not a valid sample.
 */
bool own_sample_parse(const struct perf_event_header *h, bool chain, struct buf *to);
