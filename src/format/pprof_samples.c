/*
 * The second pass over samples: stacks are looked up by their hash, in batches, so that the slots
 * of the dictionary are on their way before they are asked for. A stack the dictionary has costs
 * no more than that; a new one is decoded again and interned.
 */
#include "base/hash.h"
#include "format/pprof.h"

#define BATCH 128
#define AHEAD 16 /* slots asked for */
#define LARGE (16 * BATCH)

struct sample_reader {
	struct pprof_file *f;
	VEC(uint32_t) frames; /* scratch of the slow path */
	struct pprof_labels labels;
};

static const struct pprof_location *find_location(const struct pprof_file *f, uint64_t id)
{
	uint32_t position;

	if (f->location_limit)
		return id < f->location_limit && f->location[id].lines ? &f->location[id] : NULL;
	position = id_table_get(&f->sparse_locations, id);
	return position == UINT32_MAX ? NULL : &f->location[position];
}

/* The frame of a location of one line, which has none yet. */
static enum err know_location(struct pprof_file *f, const struct pprof_location *l, uint32_t *ret)
{
	size_t index = (size_t)(l - f->location);

	/* New stacks are mostly made of known frames. */
	*ret = dict_find_frame(f->out->dict, f->location_hash[index]);
	if (*ret == MAP_NONE)
		TRY(pprof_intern_line(f, l->at, f->location_hash[index], ret));
	f->location_frame[index] = *ret + 1;
	return ERR_OK;
}

static enum err push_new_location(struct sample_reader *r, const struct pprof_sample *s, size_t i,
				  const struct pprof_location *l)
{
	const uint32_t *frames;
	uint32_t n, frame;

	/* Too deep already: intern_stack cuts it. */
	if (r->frames.n > r->f->out->limits.max_depth)
		return ERR_OK;
	if (l->lines == 1) {
		TRY(know_location(r->f, l, &frame));
		return vec_push(&r->frames, frame);
	}
	/* What has a hash has paid in pprof_hash_stack. */
	if (!s->hash && !pprof_spend_frames(r->f, l->lines))
		return pprof_fault(r->f, ERR_TOO_LARGE, r->f->bytes.p + r->f->samples.v[i].at,
				   "stacks expand to far more inlined frames than an honest file "
				   "has, here at sample %zu",
				   i);
	TRY(pprof_intern_location(r->f, r->f->inlined.v[l->at].position, &frames, &n));
	return vec_append(&r->frames, frames, n);
}

static inline enum err push_location(struct sample_reader *r, const struct pprof_sample *s,
				     size_t i, uint64_t id)
{
	const struct pprof_location *l = find_location(r->f, id);
	uint32_t frame = l ? r->f->location_frame[l - r->f->location] : 0;

	if (__builtin_expect(frame, 1))
		return vec_push(&r->frames, frame - 1);
	if (!l)
		return pprof_sample_fault(r->f, i, ERR_BAD_INDEX,
					  "no location of the file has the location_id", id);
	return push_new_location(r, s, i, l);
}

static enum err collect_packed(struct sample_reader *r, const struct pprof_sample *s, size_t i)
{
	const uint8_t *p = (const uint8_t *)r->f->bytes.p + s->ids.at, *end = p + s->ids.n;
	const uint8_t *file_end = (const uint8_t *)r->f->bytes.p + r->f->bytes.n;
	uint64_t id;

	while (p < end) {
		if (!pb_varint_quick(&p, end, file_end, &id))
			return pprof_sample_fault(r->f, i, ERR_TRUNCATED,
						  "location_id ends inside number", r->frames.n);
		TRY(push_location(r, s, i, id));
	}
	return ERR_OK;
}

/* Location ids one by one, or in several runs: legal, and rare. */
static enum err collect_scattered(struct sample_reader *r, const struct pprof_sample *s, size_t i)
{
	struct pb c = pprof_message(r->f, r->f->samples.v[i]);
	struct pb_packed run;
	uint64_t id;

	while (pb_next(&c)) {
		if (c.field != PPROF_SAMPLE_LOCATION)
			continue;
		run = pb_packed_of(&c);
		while (pb_packed_next(&run, &id))
			TRY(push_location(r, s, i, id));
		if (run.failed)
			return pprof_sample_fault(r->f, i, ERR_TRUNCATED,
						  "location_id ends inside number", r->frames.n);
	}
	return ERR_OK;
}

/* The usual stack, of locations of one line each; leaves MAP_NONE when it is another. */
static enum err intern_usual(struct pprof_file *f, const struct pprof_sample *s, uint32_t *ret)
{
	uint32_t list[PPROF_QUICK_BYTES + PPROF_IDS_SLACK];
	struct pprof_ids ids;

	*ret = MAP_NONE;
	if (!s->hash || s->scattered || s->ids.n > PPROF_QUICK_BYTES || !f->location_limit ||
	    !pprof_decode_ids(f, s->ids, list, &ids) || !ids.plain ||
	    ids.n > f->out->limits.max_depth)
		return ERR_OK;
	for (uint32_t i = 0; i < ids.n; i++)
		if (__builtin_expect(!f->location_frame[list[i]], 0))
			map_prefetch(&f->out->dict->frames.index, f->location_hash[list[i]]);
	for (uint32_t i = 0; i < ids.n; i++) {
		uint32_t id = list[i];

		list[i] = f->location_frame[id] - 1;
		if (__builtin_expect(list[i] == UINT32_MAX, 0))
			TRY(know_location(f, &f->location[id], &list[i]));
	}
	return dict_add_stack(f->out->dict, s->hash, list, ids.n, ret);
}

static enum err make_location_frames(struct pprof_file *f)
{
	size_t n = f->locations.n;

	f->location_frame = arena_zalloc(&f->arena, n + 2, sizeof(*f->location_frame));
	f->location_frames = arena_zalloc(&f->arena, n, sizeof(*f->location_frames));
	return f->location_frame && f->location_frames ? ERR_OK : ERR_NO_MEMORY;
}

/* Interns the stack of a sample the dictionary does not have. */
static enum err intern_stack(struct sample_reader *r, const struct pprof_sample *s, size_t i,
			     uint32_t *ret)
{
	uint32_t max = r->f->out->limits.max_depth;

	if (!r->f->location_frame)
		TRY(make_location_frames(r->f));
	TRY(intern_usual(r->f, s, ret));
	if (*ret != MAP_NONE)
		return ERR_OK;
	r->frames.n = 0;
	TRY(s->scattered ? collect_scattered(r, s, i) : collect_packed(r, s, i));
	if (r->frames.n > max) {
		notes_add(&r->f->out->notes,
			  "a stack is deeper than %u frames: its root side was cut", max);
		r->frames.n = max;
	}
	if (s->hash)
		return dict_add_stack(r->f->out->dict, s->hash, r->frames.v, (uint32_t)r->frames.n,
				      ret);
	return dict_stack(r->f->out->dict, r->frames.v, (uint32_t)r->frames.n, ret);
}

static enum err add_sample(struct sample_reader *r, size_t i, const struct pprof_sample *s,
			   const int64_t *values)
{
	uint32_t stack = MAP_NONE, labels = 0;

	if (s->hash)
		stack = dict_find_stack(r->f->out->dict, s->hash);
	if (stack == MAP_NONE)
		TRY(intern_stack(r, s, i, &stack));
	if (s->has_labels)
		TRY(pprof_find_labels(r->f, &r->labels, i, &labels));
	profile_add_plain(r->f->profile, stack, labels, values);
	return ERR_OK;
}

static enum err add_batch(struct sample_reader *r, size_t first, size_t n,
			  struct pprof_sample *samples, int64_t *values)
{
	const struct map *index = &r->f->out->dict->stacks.index;
	uint32_t types = r->f->profile->type_count;

	for (size_t i = 0; i < n; i++)
		if (samples[i].unusual)
			TRY(pprof_scan_any_sample(r->f, first + i, &samples[i],
						  values + i * types));
	for (size_t i = 0; i < n && i < AHEAD; i++)
		map_prefetch(index, samples[i].hash);
	for (size_t i = 0; i < n; i++) {
		if (i + AHEAD < n)
			map_prefetch(index, samples[i + AHEAD].hash);
		TRY(add_sample(r, first + i, &samples[i], values + i * types));
	}
	return ERR_OK;
}

/*
 * Room in the dictionary for what the rest of a large file will bring, as its first samples tell:
 * they had so many stacks that were new, out of `seen`.
 */
static enum err expect_rest(struct pprof_file *f, const struct dict_sizes *before, size_t seen)
{
	const struct sequence_table *stacks = &f->out->dict->stacks;
	size_t fresh = stacks->entries.n - before->stacks;
	size_t frames = stacks->pool.n - before->stack_frames;
	double rest = (double)(f->samples.n - seen) / (double)seen;
	struct dict_sizes coming = {
		.strings = f->strings.n,
		.functions = f->functions.n,
		.frames = f->locations.n,
		.stacks = (size_t)((double)fresh * rest),
		.stack_frames = (size_t)((double)frames * rest * 1.125),
	};

	return fresh < seen / 2 ? ERR_OK : dict_expect(f->out->dict, &coming);
}

static enum err add_all(struct sample_reader *r)
{
	struct pprof_file *f = r->f;
	size_t total = f->samples.n, types = f->profile->type_count;
	struct pprof_sample *samples = f->sample;
	int64_t *values = f->sample_values;
	const struct sequence_table *stacks = &f->out->dict->stacks;
	struct dict_sizes before = {.stacks = stacks->entries.n, .stack_frames = stacks->pool.n};

	if (!f->sample) {
		samples = arena_alloc(&f->arena, BATCH * sizeof(*samples));
		values = arena_alloc(&f->arena, BATCH * types * sizeof(*values));
		if (!samples || !values)
			return ERR_NO_MEMORY;
	}
	TRY(profile_reserve(f->profile, total));
	for (size_t first = 0; first < total; first += BATCH) {
		size_t n = total - first < BATCH ? total - first : BATCH;
		/* What the first pass remembers is all of the file, else this batch. */
		size_t at = f->sample ? first : 0;

		if (!f->sample)
			pprof_scan_samples(f, first, n, samples, values);
		TRY(add_batch(r, first, n, samples + at, values + at * types));
		if (!first && total >= LARGE)
			TRY(expect_rest(f, &before, n));
		reading_tick(f->out, first + n, total);
	}
	return ERR_OK;
}

enum err pprof_samples(struct pprof_file *f)
{
	struct sample_reader r = {.f = f};
	enum err e;

	if (!f->samples.n)
		return ERR_OK;
	if (!f->profile->type_count)
		return pprof_fault(f, ERR_CORRUPT, NULL, "there are samples but no sample_type");
	if (f->samples.n > f->out->limits.max_samples)
		return pprof_fault(f, ERR_TOO_LARGE, NULL, "%zu samples, more than %llu",
				   f->samples.n, (unsigned long long)f->out->limits.max_samples);
	e = add_all(&r);
	vec_release(&r.frames);
	pprof_labels_release(&r.labels);
	return e;
}
