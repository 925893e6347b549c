/*
 * Records that wait for an unwind table, or for the /proc data of their process. Room is limited:
 * when it is full, the process that holds most of it loses records (waiting_stacks_loser), so that
 * one program without tables does not displace those of others.
 */
#pragma once

#include "agent/processes.h"
#include "base/vec.h"
#include "bpf/records.h"

struct waiting_stack {
	struct process *process; /* holds a reference */
	u32 module;		 /* or WAITS_FOR_PROCESS */
	u32 size;		 /* of the record: looking for it there would miss the caches */
	u64 time;		 /* of the record */
};

#define WAITS_FOR_PROCESS (MODULE_NONE - 1)

struct waiting_stacks {
	struct buf records; /* concatenated, in the order of `list` */
	VEC(struct waiting_stack) list;
	bool walked; /* waiting_stacks_each has not returned */
};

/* Concatenated records, each padded to 8 bytes and preceded by its size. */
enum err record_append(struct buf *to, const struct record_head *head, u64 size) MUST_CHECK;
const struct record_head *record_at(const struct buf *b, size_t at, u64 *ret_size);
/* Bytes of a record including its size and padding. */
size_t record_room(u64 size);

void waiting_stacks_init(struct waiting_stacks *w, size_t bytes);
/* Does not release the references. */
void waiting_stacks_release(struct waiting_stacks *w);
/* `*ret_kept` is false if there is no room. */
enum err waiting_stacks_add(struct waiting_stacks *w, struct process *process, u32 module,
			    const struct record_head *head, u64 size, bool *ret_kept) MUST_CHECK;
/*
 * The process that must give way to a record of `process`: the one that holds most, unless that is
 * `process` itself, or would be with the record. NULL = none.
 */
struct process *waiting_stacks_loser(const struct waiting_stacks *w, const struct process *process,
				     u64 size);
/*
 * Calls `each` for all records, in order. It sets whether the record goes on waiting; it may change
 * for which module, and add records. Those that go on waiting are not copied, since there may be
 * megabytes of them, and this is called once per new table. The reference to the process of a
 * record that does not is released after `each` has returned.
 */
enum err waiting_stacks_each(struct waiting_stacks *w, void *context,
			     enum err (*each)(void *context, struct waiting_stack *one,
					      const struct record_head *head, u64 size,
					      bool *ret_waits)) MUST_CHECK;
