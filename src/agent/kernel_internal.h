/* Internals of the BPF side: loading, attaching, targets, thread scans, cost. */
#pragma once

#include "agent/kernel_side.h"

/* Requires the types above. */
#include "agent.skel.h"
#include "agent/cpu_clocks.h"
#include "base/vec.h"

struct kernel_side {
	struct kernel_options options;
	struct agent_bpf *skeleton;
	struct own_events *own; /* instead of the programs */
	bool returns;		/* kernel_sees_returns */
	struct sideband *told;
	struct ring_buffer *ring;
	u8 *segments;
	int segment_fds[KERNEL_SEGMENTS_MAX]; /* 0 = not available */
	u64 map_bytes;			      /* of all other maps; 0 = not computed yet */
	struct unwind_rule *rules;
	void *places; /* of kernel_wait_places */
	struct cpu_clocks clocks;
	/* Of kernel_counters: what kernel_losses has already passed on. */
	typeof(((struct kernel_counters *)0)->nobodys) nobodys;
	u64 next_news; /* earliest time at which a new program wakes the agent */
	VEC(struct bpf_link *) links;
	struct capture_lack lacks[CAPTURE_LACKS_MAX];
	size_t lack_count;
	struct bpf_link *threads; /* iterator over all threads; NULL = none */
	/* Set while draining. */
	void *context;
	enum err (*record)(void *context, const struct record_head *head, size_t size);
	enum err error;
};

/* The programs of the timer and of thread scans are attached differently. */
enum attach { ELSEWHERE, ATTACHED, FOR_WAITS };

/* Which types need a program. Programs needed only FOR_WAITS run at every context switch. */
struct need {
	struct bpf_program *program;
	unsigned types; /* requested types that need this program; 0 = not needed */
	enum attach attach;
};

/* Threads cache the decision about their process until then. */
void kernel_forget_decisions(struct kernel_side *k);

/* Empties the tables of threads while nothing writes to them: threads that ended meanwhile would
 * keep their entries. */
void kernel_forget_threads(struct kernel_side *k);

#define NEEDS_MAX 14

size_t kernel_needs(const struct kernel_side *k, struct need needs[NEEDS_MAX]);
/* Continues without these types; if no other is left, fails with `why`. */
enum err kernel_leave_out(struct kernel_side *k, unsigned types, enum err e,
			  struct fault *why) MUST_CHECK;
