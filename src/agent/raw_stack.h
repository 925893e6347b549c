/*
 * Raw stacks: registers and a copy of the top of the stack. They are unwound here, with the same
 * steps as in the kernel, as soon as the tables are available.
 */
#pragma once

#include "agent/processes.h"

/*
 * Writes addresses leaf first. UNWIND_NO_TABLE: retry when the module `*ret_missing` is ready; with
 * all other results it is MODULE_NONE.
 */
enum unwind_end raw_stack_walk(struct processes *p, struct modules *m, struct process *process,
			       const struct record_head *head, u64 *addresses, size_t max,
			       size_t *ret_count, u32 *ret_missing);
