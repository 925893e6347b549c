/*
 * The distinct stacks of one window with their values. Frames are (module, address in it): they are
 * symbolized later, once per frame and not once per sample.
 */
#pragma once

#include "agent/processes.h"

struct sample_frame {
	u64 address; /* in the module; in the process when `module` is MODULE_NONE */
	u32 module;
	u32 place; /* index of its symbols, set by names_begin; 0 before */
};

/* The key of a row. */
struct sample {
	struct process *process;
	/* The waker; NULL if unknown. */
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
	u64 time; /* its time, stored with the row; 0 = not stored */
};

/* The time of a sample; those of one row form a list. */
struct sample_time {
	u64 time;     /* CLOCK_MONOTONIC */
	u32 previous; /* + 1; 0 = this is the first */
};

struct collected {
	struct sample sample; /* `frames` is not valid: see frames_at */
	u64 hash;
	size_t frames_at;    /* followed by the waker's frames */
	double value, count; /* both unbiased */
	u32 last_time;	     /* last of its list of times, + 1; 0 = none */
	bool other_wait;     /* on a futex, but not for a lock; known after symbolization */
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
/* Moves all rows; `to` must be empty. */
void collector_take(struct collector *from, struct collector *to);
/* Empties it for a new window; drops the references to processes. */
void collector_clear(struct collector *c);
/* Sets all values of a kind to zero; its rows remain. */
void collector_forget(struct collector *c, u32 kind);
enum err collector_add(struct collector *c, const struct sample *s, double value,
		       double count) MUST_CHECK;
const struct sample_frame *collected_frames(const struct collector *c, const struct collected *one);
const struct sample_frame *collected_waker(const struct collector *c, const struct collected *one);
