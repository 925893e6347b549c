/*
 * Measures the agent's cost: CPU time of its processes, its BPF programs and the interrupts that
 * run them; memory including BPF maps; and the load of the machine.
 */
#pragma once

#include "agent/budget.h"
#include "agent/capture.h"

struct self_meter {
	struct capture *capture;
	long processors;
	/* Values of the last measurement. */
	int64_t time_ns;
	u64 worker_ns, user_ns, kernel_ns, samples, busy, ticks;
	u64 wait_ns, timer_ns, wait_records, followed_ns;
	/* Totals, for metrics. */
	u64 interrupt_ns;
};

void self_meter_open(struct self_meter *m, struct capture *c);
/* Computes the values since the last call. */
void self_meter_read(struct self_meter *m, struct budget_measure *ret);

/*
 * Total memory: the proportional set size of this process and its workers, including text and
 * mapped files, plus all BPF maps; mapped ones count once.
 */
u64 self_meter_pss(const struct self_meter *m);
/* CPU time of this process and its workers. */
u64 self_meter_user_ns(void);
/* Parses the first line of /proc/stat: busy ticks and all ticks since boot. False if it is
 * invalid. */
bool stat_line_read(struct str text, u64 *ret_busy, u64 *ret_all);
