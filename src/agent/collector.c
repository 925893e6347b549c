#include "agent/collector.h"

#include "base/hash.h"

void collector_release(struct collector *c)
{
	collector_clear(c);
	vec_release(&c->list);
	vec_release(&c->frames);
	map_release(&c->by_content);
}

void collector_clear(struct collector *c)
{
	vec_for_each (one, &c->list)
		if (one->sample.process)
			one->sample.process->references--;
	c->list.n = c->frames.n = 0;
	map_clear(&c->by_content);
	c->samples = 0;
	memset(c->ends, 0, sizeof(c->ends));
}

static uint64_t sample_hash(const struct sample *s)
{
	uint64_t name[2], hash;

	memcpy(name, s->thread, sizeof(name));
	hash = hash_mix((uintptr_t)s->process ^ name[0],
			name[1] ^ (uint64_t)s->kind << 32 ^ (uint64_t)s->wait_state << 40 ^
				(uint64_t)s->end << 48 ^ (uint32_t)s->syscall);
	hash = hash_mix(hash, s->lock);
	for (u32 i = 0; i < s->frame_count; i++)
		hash = hash_mix(hash ^ s->frames[i].address, s->frames[i].module + 1ull);
	return hash;
}

static bool same(const struct collector *c, const struct collected *one, const struct sample *s)
{
	const struct sample *o = &one->sample;

	return o->process == s->process && o->kind == s->kind && o->wait_state == s->wait_state &&
	       o->end == s->end && o->syscall == s->syscall && o->lock == s->lock &&
	       o->frame_count == s->frame_count &&
	       !memcmp(o->thread, s->thread, sizeof(o->thread)) &&
	       (!s->frame_count || !memcmp(c->frames.v + one->frames_at, s->frames,
					   s->frame_count * sizeof(*s->frames)));
}

static enum err add_new(struct collector *c, const struct sample *s, uint64_t hash,
			struct collected **ret)
{
	struct collected fresh = {.sample = *s, .hash = hash, .frames_at = c->frames.n};

	TRY(vec_append(&c->frames, s->frames, s->frame_count));
	TRY(vec_push(&c->list, fresh));
	if (map_put(&c->by_content, hash, (u32)c->list.n - 1) != ERR_OK) {
		c->list.n--;
		return ERR_NO_MEMORY;
	}
	if (s->process)
		s->process->references++;
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
