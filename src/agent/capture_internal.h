/* Internals of a capture: handling records from the ring buffer, and periodic scans of all
 * threads. */
#pragma once

#include "agent/capture.h"
#include "agent/losses.h"
#include "agent/open_waits.h"
#include "agent/turns.h"
#include "agent/wait_stacks.h"
#include "agent/waiting_stacks.h"
#include "agent/wakers.h"

struct capture {
	struct capture_options options;
	struct target_filter filter;
	struct kernel_side *kernel;
	struct sideband *side_band;
	int wake; /* epoll: the ring buffer fills up */
	struct table_space space;
	struct modules *modules;
	struct processes *processes;
	struct prober *prober;
	struct collector collector;
	struct losses losses;
	u64 own_lost; /* lost records already reported (unprivileged mode) */
	struct wakers wakers;
	struct turns turns;
	struct wait_levels wait_levels;
	struct wait_stacks left;	  /* of threads that are still blocked */
	struct open_waits open, reopened; /* reported in the last window; in this one */
	struct buf open_record;
	u64 window_start, kept_since;
	/* Time of the last thread scan; when the next is due. */
	u64 threads_time, look_next, look_gap, next_retry, next_offender_line;
	/* Records of this turn, sorted by time, and records that wait for unwind tables. */
	struct buf pending;
	VEC(size_t) order;
	struct waiting_stacks waiting;
	bool closing; /* shutting down: do not wait for tables */
	u64 raw_walked, raw_dropped;
	u64 records_lost;	 /* for lack of memory in a turn */
	u64 lost_before, reread; /* side-band losses so far; processes read again because of them */
	u64 followed_ns; /* CPU time of the loop for processes and modules, not for records */
	u64 now;
};

/* The probability with which an off-CPU wait or a turn was sampled. */
double capture_kept(const struct record_head *head);
enum err capture_handle(struct capture *c, const struct record_head *head, u64 size) MUST_CHECK;
/* Handles the waiting records whose tables are ready; all of them while the capture closes. */
enum err capture_retry_waiting(struct capture *c) MUST_CHECK;
/* Adds an unwound stack with its values. */
enum err capture_add(struct capture *c, struct process *process, const struct record_head *head,
		     const u64 *user, size_t user_count, enum unwind_end end) MUST_CHECK;
/* Handles a record whose process is known in enough detail. */
enum err capture_handle_of(struct capture *c, struct process *process,
			   const struct record_head *head, u64 size) MUST_CHECK;
/* Unwinds a raw stack; later if its tables are not ready yet. */
enum err capture_walk_raw(struct capture *c, struct process *process,
			  const struct record_head *head, u64 size) MUST_CHECK;
/* Adds a finished turn, or the part of it in a window that ends earlier. */
enum err capture_add_turn(struct capture *c, const struct record_head *head,
			  const struct sample *s) MUST_CHECK;
/* Adds the turns that are still open when the window ends. */
enum err capture_open_turns(struct capture *c) MUST_CHECK;
enum err capture_settle_turns(struct capture *c) MUST_CHECK;
/* Scans all threads if that is due. */
enum err capture_look_at_threads(struct capture *c) MUST_CHECK;
