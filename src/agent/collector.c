#include "agent/collector.h"

#include "base/hash.h"

void collector_release(struct collector *c)
{
	collector_clear(c);
}

void collector_take(struct collector *from, struct collector *to)
{
	*to = *from;
	*from = (struct collector){0};
}

static void refer(struct process *process, int change)
{
	if (process)
		process->references += (u32)change;
}

void collector_clear(struct collector *c)
{
	vec_for_each (one, &c->list) {
		refer(one->sample.process, -1);
		refer(one->sample.waker, -1);
	}
	/* The next window fills up slowly: meanwhile others may have the memory. */
	vec_release(&c->list);
	vec_release(&c->frames);
	vec_release(&c->times);
	map_release(&c->by_content);
	c->samples = 0;
	memset(c->ends, 0, sizeof(c->ends));
}

void collector_forget(struct collector *c, u32 kind)
{
	vec_for_each (one, &c->list)
		if (one->sample.kind == kind)
			one->value = one->count = 0;
}

static uint64_t hash_name(const char name[16], uint64_t hash)
{
	uint64_t words[2];

	memcpy(words, name, sizeof(words));
	return hash_mix(hash ^ words[0], words[1]);
}

static uint64_t hash_frames(const struct sample_frame *frames, u32 n, uint64_t hash)
{
	for (u32 i = 0; i < n; i++)
		hash = hash_mix(hash ^ frames[i].address, frames[i].module + 1ull);
	return hash;
}

static uint64_t sample_hash(const struct sample *s)
{
	uint64_t hash = hash_mix((uintptr_t)s->process, (uintptr_t)s->waker + 1);

	hash = hash_mix(hash ^ s->lock, (uint64_t)s->kind << 48 ^ (uint64_t)s->wait_state << 40 ^
						(uint64_t)s->end << 32 ^ (uint32_t)s->syscall);
	hash = hash_name(s->thread, hash);
	hash = hash_frames(s->frames, s->frame_count, hash);
	if (!s->waker)
		return hash;
	return hash_frames(s->waker_frames, s->waker_frame_count, hash_name(s->waker_thread, hash));
}

static bool same_frames(const struct sample_frame *a, const struct sample_frame *b, u32 n)
{
	return !n || !memcmp(a, b, n * sizeof(*a));
}

static bool same(const struct collector *c, const struct collected *one, const struct sample *s)
{
	const struct sample *o = &one->sample;

	return o->process == s->process && o->waker == s->waker && o->kind == s->kind &&
	       o->wait_state == s->wait_state && o->end == s->end && o->syscall == s->syscall &&
	       o->lock == s->lock && o->frame_count == s->frame_count &&
	       o->waker_frame_count == s->waker_frame_count &&
	       !memcmp(o->thread, s->thread, sizeof(o->thread)) &&
	       !memcmp(o->waker_thread, s->waker_thread, sizeof(o->waker_thread)) &&
	       same_frames(collected_frames(c, one), s->frames, s->frame_count) &&
	       same_frames(collected_waker(c, one), s->waker_frames, s->waker_frame_count);
}

static enum err add_new(struct collector *c, const struct sample *s, uint64_t hash,
			struct collected **ret)
{
	struct collected fresh = {.sample = *s, .hash = hash, .frames_at = c->frames.n};

	TRY(vec_append(&c->frames, s->frames, s->frame_count));
	TRY(vec_append(&c->frames, s->waker_frames, s->waker_frame_count));
	TRY(vec_push(&c->list, fresh));
	if (map_put(&c->by_content, hash, (u32)c->list.n - 1) != ERR_OK) {
		c->list.n--;
		return ERR_NO_MEMORY;
	}
	refer(s->process, 1);
	refer(s->waker, 1);
	*ret = &c->list.v[c->list.n - 1];
	return ERR_OK;
}

enum err collector_add(struct collector *c, const struct sample *s, double value, double count)
{
	uint64_t hash = sample_hash(s);
	struct collected *found = NULL;

	MAP_PROBE(&c->by_content, hash, id)
	{
		if (same(c, &c->list.v[id], s)) {
			found = &c->list.v[id];
			break;
		}
	}
	if (!found)
		TRY(add_new(c, s, hash, &found));
	if (s->time) {
		TRY(vec_push(&c->times, ((struct sample_time){s->time, found->last_time})));
		found->last_time = (u32)c->times.n;
	}
	found->value += value;
	found->count += count;
	c->samples++;
	c->ends[s->end < UNWIND_END_COUNT ? s->end : UNWIND_NO_RULE]++;
	return ERR_OK;
}

const struct sample_frame *collected_frames(const struct collector *c, const struct collected *one)
{
	return c->frames.v + one->frames_at;
}

const struct sample_frame *collected_waker(const struct collector *c, const struct collected *one)
{
	return c->frames.v + one->frames_at + one->sample.frame_count;
}
