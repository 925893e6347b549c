/*
 * Stacks of threads that left their CPU, kept until they return: only then it is known whether, and
 * for how long, the wait counts. Used on kernels without sched_exit_tp.
 */
#pragma once

#include "base/map.h"
#include "base/vec.h"
#include "bpf/records.h"

struct wait_stack {
	u64 wait_id;
	struct record_head *record; /* NULL = taken */
	size_t size;
};

struct wait_stacks {
	VEC(struct wait_stack) list;
	struct map by_wait;
	size_t taken; /* of the list */
	size_t bytes;
};

/* Enough for one in a hundred threads of a large machine with a raw stack. */
#define WAIT_STACKS_BYTES ((size_t)8 << 20)

void wait_stacks_release(struct wait_stacks *w);
/* Stores a copy. If there is no room, the wait is reported without a stack. */
enum err wait_stacks_add(struct wait_stacks *w, const struct record_head *head,
			 size_t size) MUST_CHECK;
/* Removes the record of a wait, which the caller frees; NULL if there is none. */
struct record_head *wait_stacks_take(struct wait_stacks *w, u64 wait_id, size_t *ret_size);
