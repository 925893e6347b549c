#include "agent/turns.h"

#include <stdio.h>

#include "base/clock.h"

/* Limit of samples between two calls; the rest is attributed to the loop. */
#define TURN_SAMPLES_MAX 65536u
#define TURNS_TOLD_MAX	 4096u

u8 turn_bucket(u64 length_ns)
{
	u64 ms = length_ns / NS_PER_MS;
	u8 bucket = 0;

	while (ms && bucket < TURN_BUCKETS - 1) {
		bucket++;
		ms >>= 1;
	}
	return bucket;
}

void turn_bucket_text(u8 bucket, char text[24])
{
	if (!bucket)
		snprintf(text, 24, "below 1 ms");
	else if (bucket >= TURN_BUCKETS - 1)
		snprintf(text, 24, "%u ms and more", 1u << (TURN_BUCKETS - 2));
	else
		snprintf(text, 24, "%u-%u ms", 1u << (bucket - 1), 1u << bucket);
}

void turns_release(struct turns *t)
{
	vec_for_each (one, &t->list)
		one->process->references--;
	vec_release(&t->list);
	vec_release(&t->frames);
	vec_release(&t->told);
}

enum err turns_add(struct turns *t, u32 tid, u64 turn, u64 time, const struct sample *s,
		   double weight)
{
	struct turn_sample one = {.turn = turn,
				  .time = time,
				  .tid = tid,
				  .frame_count = s->frame_count,
				  .frames_at = t->frames.n,
				  .process = s->process,
				  .weight = weight,
				  .end = s->end};

	if (t->list.n >= TURN_SAMPLES_MAX || weight <= 0)
		return ERR_OK;
	memcpy(one.thread, s->thread, sizeof(one.thread));
	TRY(vec_append(&t->frames, s->frames, s->frame_count));
	TRY(vec_push(&t->list, one));
	s->process->references++;
	return ERR_OK;
}

static bool inside(const struct turn_sample *one, u32 tid, u64 turn)
{
	return one->tid == tid && one->turn == turn && !one->used;
}

enum err turns_share(struct turns *t, struct collector *c, u32 tid, u64 turn, double length,
		     u8 bucket, bool *ret_seen)
{
	double sum = 0;

	/* Of the samples of a turn none is older than it. */
	for (size_t i = t->list.n; i-- > 0 && t->list.v[i].time >= turn;)
		if (inside(&t->list.v[i], tid, turn))
			sum += t->list.v[i].weight;
	for (size_t i = t->list.n; sum > 0 && i-- > 0 && t->list.v[i].time >= turn;) {
		struct turn_sample *one = &t->list.v[i];
		struct sample s = {.process = one->process,
				   .kind = RECORD_LOOP,
				   .wait_state = bucket,
				   .end = one->end,
				   .syscall = -1,
				   .frames = t->frames.v + one->frames_at,
				   .frame_count = one->frame_count};

		if (!inside(one, tid, turn))
			continue;
		memcpy(s.thread, one->thread, sizeof(s.thread));
		TRY(collector_add(c, &s, length * one->weight / sum, 0));
		one->used = true;
	}
	*ret_seen = sum > 0;
	return ERR_OK;
}

u64 turns_told(const struct turns *t, u32 tid, u64 turn)
{
	vec_for_each (one, &t->told)
		if (one->tid == tid && one->turn == turn)
			return one->told_ns;
	return 0;
}

enum err turns_tell(struct turns *t, u32 tid, u64 turn, u64 told_ns)
{
	vec_for_each (one, &t->told)
		if (one->tid == tid) {
			/* A thread is in one turn at a time. */
			one->turn = turn;
			one->told_ns = told_ns;
			return ERR_OK;
		}
	/* The oldest has most probably ended. */
	if (t->told.n == TURNS_TOLD_MAX)
		memmove(t->told.v, t->told.v + 1, --t->told.n * sizeof(*t->told.v));
	return vec_push(&t->told, ((struct turn_told){turn, tid, told_ns}));
}

static bool still_wanted(const struct turn_sample *one, u64 before, void *context,
			 u64 (*now_in)(void *context, u32 tid))
{
	if (one->used)
		return false;
	return one->time >= before || now_in(context, one->tid) == one->turn;
}

enum err turns_settle(struct turns *t, u64 before, void *context,
		      u64 (*now_in)(void *context, u32 tid))
{
	struct turns kept = {.told = t->told};
	enum err e = ERR_OK;

	if (!t->list.n || t->list.v[0].time >= before)
		return ERR_OK;
	vec_for_each (one, &t->list) {
		struct sample s = {.process = one->process,
				   .frames = t->frames.v + one->frames_at,
				   .frame_count = one->frame_count,
				   .end = one->end};

		memcpy(s.thread, one->thread, sizeof(s.thread));
		if (!e && still_wanted(one, before, context, now_in))
			e = turns_add(&kept, one->tid, one->turn, one->time, &s, one->weight);
	}
	t->told = (typeof(t->told)){0};
	turns_release(t);
	*t = kept;
	return e;
}
