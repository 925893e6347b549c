/*
 * Turns of event loops: samples and waits that were seen inside a turn are kept until its end tells
 * its length, which is then divided among them. A turn nobody saw anything of counts for the loop
 * itself.
 */
#pragma once

#include "agent/collector.h"

struct turn_sample {
	u64 turn, time; /* when the turn began; when this was seen */
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
	/* Of turns longer than a window: what was told of them. */
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
 * `length` nanoseconds of a turn go to what was seen in it; `ret_seen` says whether that was
 * anything. What was seen is used up.
 */
enum err turns_share(struct turns *t, struct collector *c, u32 tid, u64 turn, double length,
		     u8 bucket, bool *ret_seen) MUST_CHECK;
u64 turns_told(const struct turns *t, u32 tid, u64 turn);
enum err turns_tell(struct turns *t, u32 tid, u64 turn, u64 told_ns) MUST_CHECK;
/*
 * Forgets what was used, and what is older than `before` and in no turn that is still under way:
 * those turns ended and were not kept.
 */
enum err turns_settle(struct turns *t, u64 before, void *context,
		      u64 (*now_in)(void *context, u32 tid)) MUST_CHECK;
