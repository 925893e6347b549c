/* The parts of a capture: what comes from the ring, and what comes from looks at all threads. */
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
	struct judge judge;
	struct kernel_side *kernel;
	struct sideband *side_band;
	int wake; /* epoll: a ring fills up */
	struct table_space space;
	struct modules *modules;
	struct processes *processes;
	struct prober *prober;
	struct collector collector;
	struct losses losses;
	u64 own_lost; /* without privileges: records, told already */
	struct wakers wakers;
	struct turns turns;
	struct wait_levels wait_levels;
	struct wait_stacks left;	  /* of threads that have not come back */
	struct open_waits open, reopened; /* told before; told this time */
	struct buf open_record;
	u64 window_start, kept_since;
	/* When threads were counted last, and when next. */
	u64 threads_time, look_next, look_gap, next_retry, next_offender_line;
	/* Records of this turn, in order of time; and those that wait for tables. */
	struct buf pending;
	VEC(size_t) order;
	struct waiting_stacks waiting;
	bool closing; /* nothing is waited for any more */
	u64 raw_walked, raw_dropped;
	u64 records_lost;	 /* there was no room for in a turn */
	u64 lost_before, reread; /* of the side band; processes read again for it */
	u64 now;
};

/* The probability with which a wait or a turn was kept. */
double capture_kept(const struct record_head *head);
enum err capture_handle(struct capture *c, const struct record_head *head, u64 size) MUST_CHECK;
/* What waited, as far as its tables have come; `last` = now or never. */
enum err capture_retry_waiting(struct capture *c, bool last) MUST_CHECK;
/* A stack that was walked, with its measurements. */
enum err capture_add(struct capture *c, struct process *process, const struct record_head *head,
		     const u64 *user, size_t user_count, enum unwind_end end) MUST_CHECK;
/* What becomes of a record whose process is known, and known well enough. */
enum err capture_handle_of(struct capture *c, struct process *process,
			   const struct record_head *head, u64 size) MUST_CHECK;
/* Walks a raw stack; with `may_wait` later, when its tables are not there yet. */
enum err capture_walk_raw(struct capture *c, struct process *process,
			  const struct record_head *head, u64 size, bool may_wait) MUST_CHECK;
/* The end of a turn, or its part in a window that ends before. */
enum err capture_add_turn(struct capture *c, const struct record_head *head,
			  const struct sample *s) MUST_CHECK;
/* Turns that are under way when the window ends. */
enum err capture_open_turns(struct capture *c) MUST_CHECK;
enum err capture_settle_turns(struct capture *c) MUST_CHECK;
/* Counts threads when it is time. */
enum err capture_look_at_threads(struct capture *c) MUST_CHECK;
