/*
 * Event-loop iterations ("turns"): samples and waits inside a turn are kept until it ends, and then
 * share its length. A turn without samples counts for the loop itself.
 */
#pragma once

#include "agent/collector.h"

struct turn_sample {
	u64 turn, time; /* start of the turn; time of the sample */
	u32 tid;
	u32 frame_count;
	size_t frames_at;
	struct process *process;
	char thread[16];
	double weight; /* nanoseconds */
	u8 end;
	bool used;
};

struct turns {
	VEC(struct turn_sample) list; /* in order of time */
	VEC(struct sample_frame) frames;
	/* For turns longer than a window: the time reported so far. */
	VEC(struct turn_told {
		u64 turn;
		u32 tid;
		u64 told_ns;
	})
	told;
};

/* Lengths of turns as a label: 0 = below 1 ms, then a power of two each. */
#define TURN_BUCKETS 16

u8 turn_bucket(u64 length_ns);
void turn_bucket_text(u8 bucket, char text[24]);

void turns_release(struct turns *t);
/* The process gets one more reference. */
enum err turns_add(struct turns *t, u32 tid, u64 turn, u64 time, const struct sample *s,
		   double weight) MUST_CHECK;
/*
 * Divides `length` nanoseconds among the samples of a turn, and removes these; `ret_seen` is
 * whether there were any.
 */
enum err turns_share(struct turns *t, struct collector *c, u32 tid, u64 turn, double length,
		     u8 bucket, bool *ret_seen) MUST_CHECK;
u64 turns_told(const struct turns *t, u32 tid, u64 turn);
enum err turns_tell(struct turns *t, u32 tid, u64 turn, u64 told_ns) MUST_CHECK;
/*
 * Drops used samples, and those older than `before` whose turn has ended without being sampled.
 */
enum err turns_settle(struct turns *t, u64 before, void *context,
		      u64 (*now_in)(void *context, u32 tid)) MUST_CHECK;
