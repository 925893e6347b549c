/*
 * Stacks of one window, each distinct one once, with what was measured. Frames are (module,
 * address in it): names come later, once per frame and not once per sample.
 */
#pragma once

#include "agent/processes.h"

struct sample_frame {
	u64 address; /* in the module; in the process when `module` is MODULE_NONE */
	u32 module;
	u32 place; /* where its names are, when names_begin has looked; 0 before */
};

/* What makes two stacks one row. */
struct sample {
	struct process *process;
	/* Who ended the wait; NULL when that is not known. */
	struct process *waker;
	char waker_thread[16];
	const struct sample_frame *waker_frames;
	u32 waker_frame_count;
	u32 kind; /* enum record_kind */
	char thread[16];
	u8 wait_state;
	u8 end; /* enum unwind_end */
	s32 syscall;
	u64 lock;
	const struct sample_frame *frames; /* leaf first, kernel before user */
	u32 frame_count;
	u64 time; /* when it was taken, kept beside the row; 0 = of no interest */
};

/* When a sample of a row was taken; those of one row are a chain. */
struct sample_time {
	u64 time;     /* CLOCK_MONOTONIC */
	u32 previous; /* + 1; 0 = this is the first */
};

struct collected {
	struct sample sample; /* `frames` is not valid: see frames_at */
	u64 hash;
	size_t frames_at;    /* the waker's follow */
	double value, count; /* both without bias */
	u32 last_time;	     /* of its chain of times, + 1; 0 = none */
	bool other_wait;     /* on a futex, and not for a lock; known when names are */
};

struct collector {
	VEC(struct collected) list;
	VEC(struct sample_frame) frames;
	VEC(struct sample_time) times;
	struct map by_content;
	u64 samples;
	u64 ends[UNWIND_END_COUNT];
};

void collector_release(struct collector *c);
/* Moves all that was collected; `to` is not released before. */
void collector_take(struct collector *from, struct collector *to);
/* For a new window; drops the references to processes. */
void collector_clear(struct collector *c);
/* Takes back all that was measured of a kind; its rows stay, with nothing in them. */
void collector_forget(struct collector *c, u32 kind);
enum err collector_add(struct collector *c, const struct sample *s, double value,
		       double count) MUST_CHECK;
const struct sample_frame *collected_frames(const struct collector *c, const struct collected *one);
const struct sample_frame *collected_waker(const struct collector *c, const struct collected *one);
