#include "sampler/sampler.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/thread.h"
#include "sampler/own_symbols.h"
#include "sampler/sample_ring.h"
#include "sampler/thread_timers.h"

/* Samples per CPU between two polls. */
#define SLOTS_PER_CPU 128
#define MAX_SLOTS     8192

struct sampler {
	struct thread_timers timers;
	struct own_symbols symbols;
	struct dict dict;
	struct profile profile;
	struct map frames;	    /* hash of an address -> frame: a hash is proof enough here */
	VEC(uint32_t) row_of_stack; /* row + 1, 0 = none yet */
	int64_t since_ns;	    /* wall clock at the profile's beginning */
	uint64_t samples;
	bool ring_open;
};

/* ------------------------------------------------------------------ counting */

static enum err frame_of(struct sampler *s, uintptr_t address, uint32_t *ret)
{
	char text[SYMBOL_TEXT];
	uint64_t hash = hash_mix(address, s->dict.seed);

	*ret = map_get(&s->frames, hash);
	if (*ret != MAP_NONE)
		return ERR_OK;
	TRY(dict_named_frame(&s->dict, own_symbols_find(&s->symbols, address, text), ret));
	return map_put(&s->frames, hash, *ret);
}

static enum err add_row(struct sampler *s, uint32_t stack, uint32_t weight)
{
	int64_t values[2] = {weight, weight * s->timers.period_ns};
	struct row row = {.stack = stack};
	uint32_t known;

	while (s->row_of_stack.n <= stack)
		TRY(vec_push(&s->row_of_stack, 0));
	known = s->row_of_stack.v[stack];
	if (known) {
		int64_t *sum = s->profile.values + (size_t)(known - 1) * 2;

		sum[0] += values[0];
		sum[1] += values[1];
		return ERR_OK;
	}
	TRY(profile_add(&s->profile, &row, values));
	s->row_of_stack.v[stack] = (uint32_t)s->profile.row_count;
	return ERR_OK;
}

static enum err count(void *context, const struct sample *sample)
{
	struct sampler *s = context;
	uint32_t frames[SAMPLE_MAX_FRAMES], stack;

	for (uint32_t i = 0; i < sample->frame_count; i++)
		TRY(frame_of(s, sample->frames[i], &frames[i]));
	TRY(dict_stack(&s->dict, frames, sample->frame_count, &stack));
	TRY(add_row(s, stack, sample->weight));
	s->samples += sample->weight;
	return ERR_OK;
}

/* ------------------------------------------------------------------ the profile */

static void release_profile(struct sampler *s)
{
	profile_release(&s->profile);
	dict_release(&s->dict);
	map_release(&s->frames);
	vec_release(&s->row_of_stack);
	s->profile = (struct profile){0};
	s->dict = (struct dict){0};
	s->frames = (struct map){0};
}

static enum err prepare_profile(struct sampler *s)
{
	TRY(dict_init(&s->dict, (uint64_t)clock_monotonic_ns()));
	profile_init(&s->profile, &s->dict);
	TRY(profile_add_type(&s->profile, STR("samples"), STR("count")));
	TRY(profile_add_type(&s->profile, STR("cpu"), STR("nanoseconds")));
	s->profile.period_type = s->profile.types[1];
	s->profile.period = s->timers.period_ns;
	s->profile.time_ns = s->since_ns;
	return ERR_OK;
}

static enum err begin_profile(struct sampler *s)
{
	enum err e = s->profile.dict ? ERR_OK : prepare_profile(s);

	if (e)
		release_profile(s);
	return e;
}

/* The next poll makes a new one. */
void sampler_clear(struct sampler *s)
{
	release_profile(s);
	s->since_ns = clock_wall_ns();
}

const struct profile *sampler_profile(const struct sampler *s)
{
	return &s->profile;
}

struct sampler_counts sampler_counts(const struct sampler *s)
{
	return (struct sampler_counts){s->samples, sample_ring_lost()};
}

enum err sampler_poll(struct sampler *s)
{
	TRY(begin_profile(s));
	TRY(sample_ring_drain(count, s));
	s->profile.duration_ns = clock_wall_ns() - s->profile.time_ns;
	return thread_timers_update(&s->timers);
}

/* ------------------------------------------------------------------ life */

static enum err start(struct sampler *s, struct fault *fault)
{
	size_t slots = (size_t)thread_cpus() * SLOTS_PER_CPU;

	s->since_ns = clock_wall_ns();
	TRY(begin_profile(s));
	TRY(own_symbols_load(&s->symbols, fault));
	TRY(sample_ring_open(slots < MAX_SLOTS ? slots : MAX_SLOTS, fault));
	s->ring_open = true;
	return thread_timers_update(&s->timers);
}

enum err sampler_new(unsigned per_second, struct sampler **ret, struct fault *fault)
{
	struct sampler *s = mem_zalloc(1, sizeof(*s));
	enum err e;

	if (!s)
		return ERR_NO_MEMORY;
	s->timers.period_ns = NS_PER_S / per_second;
	e = start(s, fault);
	if (e)
		sampler_free(s);
	else
		*ret = s;
	return e;
}

void sampler_free(struct sampler *s)
{
	if (!s)
		return;
	thread_timers_release(&s->timers);
	if (s->ring_open)
		sample_ring_close();
	own_symbols_release(&s->symbols);
	release_profile(s);
	mem_free(s);
}
