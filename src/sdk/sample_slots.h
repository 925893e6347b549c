/*
 * Passes samples from the sampled thread (in a signal handler or inside malloc) to the background
 * thread. A fixed number of slots per process: a free one is claimed by one atomic exchange,
 * without waiting; if there is none, the sample is counted as lost.
 *
 *	free -> being filled -> filled -> (drained) free
 *
 * A stack that could not be walked, because a module is not known yet, has a copy of the stack's
 * memory (struct raw_stack) and is walked later.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "sdk/span_context.h"
#include "unwind/unwind_format.h"

#define SAMPLE_FRAMES_MAX 128
#define RAW_STACK_BYTES	  16384

enum sample_kind {
	SAMPLE_CPU,	/* value: nanoseconds */
	SAMPLE_ALLOC,	/* value: bytes, already weighted */
	SAMPLE_LIVE,	/* not sampled: live objects, counted when a profile is made */
	SAMPLE_LOCK,	/* value: nanoseconds of waiting, already weighted */
	SAMPLE_HELD,	/* the same, by holder of the lock */
	SAMPLE_BLOCK,	/* the same, for conditions and semaphores */
	SAMPLE_WALL,	/* value: nanoseconds, in some state */
	SAMPLE_THREADS, /* not sampled: number of threads */
	SAMPLE_KINDS
};

enum {
	SETTLED = 1,	/* the rest at a thread's end */
	SETTLED_WAITED, /* waiting for a CPU */
};

struct raw_stack {
	atomic_int state;
	u64 registers[17];
	u32 from_call; /* the first address is a return address */
	u32 size;
	u64 start; /* address of bytes[0] */
	u8 bytes[RAW_STACK_BYTES];
};

struct taken_sample {
	atomic_int state;
	u8 kind;
	u8 end;		 /* enum unwind_end */
	u8 from_call;	 /* the first address is a return address */
	u8 settled;	 /* SETTLED...: the start function of the thread instead of a stack */
	u8 thread_state; /* SAMPLE_WALL: enum thread_state */
	u32 frame_count;
	u32 thread;  /* number of the thread, 0 = none; set inside spans that are evaluated later */
	s64 time_ns; /* monotonic, then */
	u32 record;  /* number of the thread (own_threads.h), 0 = none */
	s64 count, value;
	u64 object; /* SAMPLE_ALLOC: the address, if it is tracked; else of the lock */
	u64 serial; /* of the tracked object */
	struct span_context context;
	struct raw_stack *raw;	       /* instead of frames; or NULL */
	u64 frames[SAMPLE_FRAMES_MAX]; /* leaf first; addresses of the process */
};

/* Called from any context when many slots are full. */
void sample_slots_set_many(void (*tell)(void));
/* Allocates the memory, once; false on failure. */
bool sample_slots_open(void);
/* A slot to fill, or NULL. Any thread, any context. */
struct taken_sample *sample_claim(u8 kind);
void sample_publish(struct taken_sample *s);
/* Returns a claimed slot unfilled. */
void sample_abandon(struct taken_sample *s);
struct raw_stack *raw_stack_claim(void);
/* Gives it back; NULL is fine. */
void raw_stack_free(struct raw_stack *r);
/* Calls `each` for all filled slots, with or without a stack copy, and frees them. One thread at a
 * time. */
void sample_slots_drain(bool raw, void (*each)(void *context, const struct taken_sample *s),
			void *context);
/* Counts a lost sample. */
void sample_lost(void);
u64 sample_slots_lost(void);
/* In the child of fork(): frees slots that other threads were filling. */
void sample_slots_reset(void);
