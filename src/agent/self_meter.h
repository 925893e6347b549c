/*
 * What the agent costs: its own processor time with that of its programs in the kernel and of the
 * interrupts that start them, its memory with that of the kernel's maps; and how busy the machine
 * is.
 */
#pragma once

#include "agent/budget.h"
#include "agent/capture.h"

struct self_meter {
	struct capture *capture;
	long processors;
	/* At the last measurement. */
	int64_t time_ns;
	u64 worker_ns, user_ns, kernel_ns, samples, busy, ticks;
	u64 wait_ns, timer_ns, wait_records;
	/* Totals, for metrics. */
	u64 interrupt_ns;
};

void self_meter_open(struct self_meter *m, struct capture *c);
/* Since the last call. */
void self_meter_read(struct self_meter *m, struct budget_measure *ret);

/*
 * Memory as a whole: the proportional set size of this process and its workers, text and mapped
 * files included, and all kernel maps, those that are mapped here counted once.
 */
u64 self_meter_pss(const struct self_meter *m);
/* Processor time of this process and of its workers. */
u64 self_meter_user_ns(void);
/* The first line of /proc/stat: busy and all ticks since boot. False when it is none. */
bool stat_line_read(struct str text, u64 *ret_busy, u64 *ret_all);
