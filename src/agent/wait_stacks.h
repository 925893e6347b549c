/*
 * Stacks of threads that left their processor, until they come back: only then it is known whether,
 * and for how long, they are told of. Where the kernel side sees a thread when it leaves alone
 * (kernel_options.switch_alone).
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

/* A thread in every hundred of a large machine waits with a raw stack. */
#define WAIT_STACKS_BYTES ((size_t)8 << 20)

void wait_stacks_release(struct wait_stacks *w);
/* Keeps a copy. Without room it is not kept: its wait is then told without a stack. */
enum err wait_stacks_add(struct wait_stacks *w, const struct record_head *head,
			 size_t size) MUST_CHECK;
/* The record of that wait, which the caller frees; NULL when there is none. */
struct record_head *wait_stacks_take(struct wait_stacks *w, u64 wait_id, size_t *ret_size);
