/* The parts of the kernel side: opening, programs that run, targets, threads, what it costs. */
#pragma once

#include "agent/kernel_side.h"

/* Its types come before. */
#include "agent.skel.h"
#include "agent/cpu_clocks.h"
#include "base/vec.h"

struct kernel_side {
	struct kernel_options options;
	struct agent_bpf *skeleton;
	struct own_events *own; /* in place of the programs */
	bool returns;		/* threads that come back are seen: kernel_sees_returns */
	struct sideband *told;
	struct ring_buffer *ring;
	u8 *segments;
	int segment_fds[KERNEL_SEGMENTS_MAX]; /* 0 = it is not there */
	u64 map_bytes;			      /* of all maps but those; 0 = not counted yet */
	struct unwind_rule *rules;
	void *places; /* of kernel_wait_places */
	struct cpu_clocks clocks;
	u64 next_news; /* not before this time a new program wakes the agent */
	VEC(struct bpf_link *) links;
	struct capture_lack lacks[CAPTURE_LACKS_MAX];
	size_t lack_count;
	struct bpf_link *threads; /* over which threads are looked at; NULL = not */
	/* While draining. */
	void *context;
	enum err (*record)(void *context, const struct record_head *head, size_t size);
	enum err error;
};

/* The timer's and the threads' programs are attached in ways of their own. */
enum attach { ELSEWHERE, ATTACHED, FOR_WAITS };

/* Who needs which program. Those FOR_WAITS alone run with every switch of threads. */
struct need {
	struct bpf_program *program;
	unsigned types; /* those that are asked for and nothing without it; 0 = it is not needed */
	enum attach attach;
};

/* Threads keep what was decided about their process until then. */
void kernel_judge_again(struct kernel_side *k);

#define NEEDS_MAX 14

size_t kernel_needs(const struct kernel_side *k, struct need needs[NEEDS_MAX]);
/* Goes on without these types; `why` becomes the reason when there are no others. */
enum err kernel_leave_out(struct kernel_side *k, unsigned types, enum err e,
			  struct fault *why) MUST_CHECK;
