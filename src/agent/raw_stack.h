/*
 * Stacks that came raw: registers and a copy of the top of the stack. They are walked here, with
 * the same steps as in the kernel, as soon as the tables they need are there.
 */
#pragma once

#include "agent/processes.h"

/*
 * Writes addresses leaf first. UNWIND_NO_TABLE: a file is still being read, try again when
 * `*ret_missing` is; MODULE_NONE with every other end.
 */
enum unwind_end raw_stack_walk(struct processes *p, struct modules *m, struct process *process,
			       const struct record_head *head, u64 *addresses, size_t max,
			       size_t *ret_count, u32 *ret_missing);
