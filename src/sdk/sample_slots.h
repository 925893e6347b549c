/*
 * Where samples wait between the thread that took them (in a signal handler, or inside malloc) and
 * the background thread. A fixed number of slots for the whole process: a taker claims a free one
 * with one atomic exchange and never waits; when there is none the sample is counted as lost.
 *
 *	free -> being filled -> filled -> (drained) free
 *
 * A stack that could not be walked, because the module it goes through is not known yet, comes with
 * a copy of the stack's memory (struct raw_stack), to be walked when it is.
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
	SAMPLE_LIVE,	/* not taken but counted when a profile is made: what is still there */
	SAMPLE_LOCK,	/* value: nanoseconds that were waited, already weighted */
	SAMPLE_HELD,	/* the same, by who held the lock */
	SAMPLE_BLOCK,	/* the same, for conditions and semaphores */
	SAMPLE_WALL,	/* value: nanoseconds, in some state */
	SAMPLE_THREADS, /* not taken but counted: threads */
	SAMPLE_KINDS
};

enum {
	SETTLED = 1,	/* what is left at a thread's end */
	SETTLED_WAITED, /* for a processor */
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
	u8 settled;	 /* SETTLED...: no stack of what it did, but where the thread began */
	u8 thread_state; /* SAMPLE_WALL: enum thread_state */
	u32 frame_count;
	u32 thread;  /* its number, 0 = not told; told inside spans, where they are judged later */
	s64 time_ns; /* monotonic, then */
	u32 record;  /* of the thread (own_threads.h): its number, 0 = not told */
	s64 count, value;
	u64 object; /* SAMPLE_ALLOC: the address, when it is watched until it is freed; of the lock
		     */
	u64 serial; /* of the watched object */
	struct span_context context;
	struct raw_stack *raw;	       /* instead of frames; or NULL */
	u64 frames[SAMPLE_FRAMES_MAX]; /* leaf first; addresses of the process */
};

/* Called from any context when many are waiting to be taken. */
void sample_slots_set_many(void (*tell)(void));
/* Takes memory from the system, once; false when there is none. */
bool sample_slots_open(void);
/* A slot to fill, or NULL. Any thread, any context. */
struct taken_sample *sample_claim(u8 kind);
void sample_publish(struct taken_sample *s);
/* Gives a claimed slot back unfilled. */
void sample_abandon(struct taken_sample *s);
struct raw_stack *raw_stack_claim(void);
/* Gives it back; NULL is fine. */
void raw_stack_free(struct raw_stack *r);
/* Calls back for all that are filled and came with a copy of their stack, or without, then frees
 * them. One thread at a time. */
void sample_slots_drain(bool raw, void (*each)(void *context, const struct taken_sample *s),
			void *context);
/* One more could not be taken. */
void sample_lost(void);
u64 sample_slots_lost(void);
/* In the child of fork(): what others were filling will never be filled. */
void sample_slots_reset(void);
