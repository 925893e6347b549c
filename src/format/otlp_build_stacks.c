/*
 * Stacks, where the time goes. They are hashed by content (docs/decisions/0002) and looked up; only
 * one that the dictionary does not have is stored. Samples come in batches, and each step is done
 * for a whole batch, so that the memory it will need is asked for before it is needed.
 */
#include "format/otlp_builder.h"
#include "format/protobuf.h"

#define BATCH 32
#define CHUNK 256

/* A stack on its way: its locations in b->scratch, its frames in b->stack_scratch. */
struct growing {
	size_t index;
	size_t location_base, frame_base;
	uint32_t decoded; /* locations that are in b->scratch beforehand */
	uint32_t locations;
	uint64_t sum, hash;
	uint32_t depth;
	uint32_t quick; /* depth up to which there is room and budget for single frames */
	bool missing;	/* a frame is not in the dictionary yet */
};

static enum err too_deep(struct otlp_builder *b, size_t stack, bool budget)
{
	char place[96];

	otlp_place(b, OTLP_STACK, stack, place);
	if (budget)
		return fault_set(&b->out->fault, ERR_TOO_LARGE,
				 "stacks expand to far more frames than an honest file has%s",
				 place);
	return fault_set(&b->out->fault, ERR_TOO_DEEP, "a stack has more than %u frames%s",
			 b->out->limits.max_depth, place);
}

/* Room for so many more locations, one frame each. */
static enum err reserve_scratch(struct otlp_builder *b, const struct growing *g, size_t n)
{
	TRY(mem_grow(&b->scratch.v, &b->scratch.cap, g->location_base + g->locations + n,
		     sizeof(*b->scratch.v), VEC_CEILING));
	return mem_grow(&b->stack_scratch.v, &b->stack_scratch.cap, g->frame_base + g->depth + n,
			sizeof(*b->stack_scratch.v), VEC_CEILING);
}

/* Any location: at its first use, with inlined frames, or not there at all. */
static enum err add_location(struct otlp_builder *b, struct growing *g, int64_t index)
{
	struct otlp_place place;

	if (index < 0 || (uint64_t)index >= b->t->locations.n)
		return otlp_bad_index(b, "Stack.location_indices", index, "location_table",
				      b->t->locations.n, OTLP_STACK, g->index);
	if (!b->locations[index].n)
		TRY(otlp_location(b, (size_t)index));
	place = b->locations[index];
	if (place.n > b->out->limits.max_depth - g->depth)
		return too_deep(b, g->index, false);
	if (g->depth + (uint64_t)place.n > b->frame_budget)
		return too_deep(b, g->index, true);
	TRY(reserve_scratch(b, g, (size_t)place.n + 1));
	b->scratch.v[g->location_base + g->locations++] = (uint32_t)index;
	for (uint32_t i = 0; i < place.n; i++) {
		uint64_t hash = place.n == 1 ? place.hash : b->frame_hashes.v[place.at + i];
		uint32_t frame = place.n == 1 ? place.at : b->frames.v[place.at + i];

		b->stack_scratch.v[g->frame_base + g->depth] = frame;
		g->missing |= frame == NOT_YET;
		g->sum += hash * content_multiplier(b->d, g->depth++);
	}
	return ERR_OK;
}

/*
 * Locations of one frame that are known already, as nearly all are: returns how many of them.
 * `indices` are in b->scratch, where they belong.
 */
static uint32_t add_known(struct otlp_builder *b, struct growing *g, const uint32_t *indices,
			  uint32_t n)
{
	const struct otlp_place *locations = b->locations;
	const uint64_t *multipliers = b->d->multipliers + g->depth;
	uint32_t *frames = b->stack_scratch.v + g->frame_base + g->depth;
	size_t limit = b->t->locations.n;
	uint64_t sum = 0;
	uint32_t i, missing = 0;

	if (g->depth + n > g->quick)
		return 0;
	for (i = 0; i < n && indices[i] < limit; i++) {
		const struct otlp_place *place = &locations[indices[i]];

		if (place->n != 1)
			break;
		frames[i] = place->at;
		missing |= place->at == NOT_YET;
		sum += place->hash * multipliers[i];
	}
	g->missing |= missing;
	g->sum += sum;
	g->depth += i;
	g->locations += i;
	return i;
}

/* The next n locations, already in their places in b->scratch. */
static enum err add_chunk(struct otlp_builder *b, struct growing *g, uint32_t n)
{
	size_t at = g->location_base + g->locations, end = at + n;

	while (at < end) {
		TRY(reserve_scratch(b, g, end - at));
		at += add_known(b, g, b->scratch.v + at, (uint32_t)(end - at));
		if (at < end)
			TRY(add_location(b, g, b->scratch.v[at++]));
	}
	return ERR_OK;
}

static enum err add_packed(struct otlp_builder *b, struct growing *g, struct str packed)
{
	const uint8_t *p = (const uint8_t *)packed.p, *end = p ? p + packed.n : p;
	char place[96];

	while (p < end) {
		uint64_t index;

		if (!pb_varint_quick(&p, end, b->t->readable, &index)) {
			otlp_place(b, OTLP_STACK, g->index, place);
			return fault_set(&b->out->fault, ERR_CORRUPT,
					 "Stack.location_indices is cut or malformed%s", place);
		}
		TRY(add_location(b, g, (int64_t)index));
	}
	return ERR_OK;
}

static enum err add_unpacked(struct otlp_builder *b, struct growing *g, struct otlp_range src)
{
	for (uint32_t i = 0; i < src.n; i++)
		TRY(add_location(b, g, b->t->indices.v[src.at + i]));
	return ERR_OK;
}

static struct str packed_stack(const struct otlp_builder *b, size_t index)
{
	return index < b->t->packed_stacks.n ? b->t->packed_stacks.v[index] : (struct str){0};
}

/*
 * Puts the locations of a usual stack (packed, up to CHUNK of them) into b->scratch and asks for
 * what will be needed of them: their table is larger than the caches close to the processor. Any
 * other stack is left to expand().
 */
static enum err decode(struct otlp_builder *b, struct growing *g)
{
	struct str packed = packed_stack(b, g->index);
	const uint8_t *p = (const uint8_t *)packed.p, *end = p ? p + packed.n : p;
	size_t limit = b->t->locations.n, n;
	uint32_t *indices;

	TRY(reserve_scratch(b, g, CHUNK));
	indices = b->scratch.v + g->location_base;
	n = pb_small_varints(&p, end, b->t->readable, indices, CHUNK);
	if (p < end)
		return ERR_OK;
	g->decoded = (uint32_t)n;
	for (size_t i = 0; i < n; i++)
		__builtin_prefetch(&b->locations[indices[i] < limit ? indices[i] : 0]);
	return ERR_OK;
}

/* Hashes a stack and puts its locations and frames behind those of the stack before. */
static enum err expand(struct otlp_builder *b, struct growing *g)
{
	uint64_t quick = STACK_MULTIPLIERS;

	quick = quick < b->out->limits.max_depth ? quick : b->out->limits.max_depth;
	quick = quick < b->frame_budget ? quick : b->frame_budget;
	g->quick = (uint32_t)quick;
	if (g->decoded)
		TRY(add_chunk(b, g, g->decoded));
	else
		TRY(add_packed(b, g, packed_stack(b, g->index)));
	TRY(add_unpacked(b, g, b->t->stacks.v[g->index]));
	b->frame_budget -= g->depth;
	g->hash = content_stack(g->sum, g->depth);
	return ERR_OK;
}

/* Stores what the stack's locations lack, and puts their frames into their places. */
static enum err fill_missing(struct otlp_builder *b, const struct growing *g)
{
	uint32_t *frame = b->stack_scratch.v + g->frame_base;

	for (uint32_t i = 0; i < g->locations; i++) {
		uint32_t index = b->scratch.v[g->location_base + i];
		const struct otlp_place *place = &b->locations[index];

		if ((place->n == 1 ? place->at : b->frames.v[place->at]) == NOT_YET)
			TRY(otlp_store_location(b, index));
		memcpy(frame, place->n == 1 ? &place->at : b->frames.v + place->at,
		       place->n * sizeof(*frame));
		frame += place->n;
	}
	return ERR_OK;
}

/* A stack the dictionary lacks. */
static enum err store(struct otlp_builder *b, const struct growing *g, uint32_t *ret)
{
	if (g->missing)
		TRY(fill_missing(b, g));
	return dict_add_stack(b->d, g->hash, b->stack_scratch.v + g->frame_base, g->depth, ret);
}

static enum err finish(struct otlp_builder *b, const struct growing *g)
{
	uint32_t *id = &b->stacks[g->index];

	*id = dict_find_stack(b->d, g->hash);
	if (*id != MAP_NONE)
		return ERR_OK;
	return store(b, g, id);
}

/* The stacks of samples [first, first + n) that are not known yet. Bad indices are left alone:
 * otlp_stack will say what is wrong when the sample's turn has come. */
static enum err prepare_batch(struct otlp_builder *b, size_t first, size_t n)
{
	struct growing batch[BATCH];
	size_t count = 0, locations = 0, frames = 0;

	for (size_t i = 0; i < n; i++) {
		int32_t index = b->t->samples.v[first + i].stack;

		if (index < 0 || (size_t)index >= b->t->stacks.n || b->stacks[index] != NOT_YET)
			continue;
		batch[count] = (struct growing){.index = (size_t)index, .location_base = locations};
		TRY(decode(b, &batch[count]));
		locations += batch[count++].decoded;
	}
	for (size_t i = 0; i < count; i++) {
		if (!batch[i].decoded)
			batch[i].location_base = locations;
		batch[i].frame_base = frames;
		TRY(expand(b, &batch[i]));
		map_prefetch(&b->d->stacks.index, batch[i].hash);
		locations += batch[i].locations - batch[i].decoded;
		frames += batch[i].depth;
	}
	for (size_t i = 0; i < count; i++)
		TRY(finish(b, &batch[i]));
	return ERR_OK;
}

enum err otlp_prepare_stacks(struct otlp_builder *b, struct otlp_range samples)
{
	for (uint32_t i = 0; i < samples.n; i += BATCH)
		TRY(prepare_batch(b, (size_t)samples.at + i,
				  samples.n - i < BATCH ? samples.n - i : BATCH));
	return ERR_OK;
}

enum err otlp_stack(const struct otlp_builder *b, int32_t index, size_t sample, uint32_t *ret)
{
	if (index == 0 && !b->t->stacks.n) {
		*ret = 0;
		return ERR_OK;
	}
	if (__builtin_expect(index < 0 || (size_t)index >= b->t->stacks.n, 0))
		return otlp_bad_index(b, "Sample.stack_index", index, "stack_table", b->t->stacks.n,
				      OTLP_SAMPLE, sample);
	*ret = b->stacks[index];
	return ERR_OK;
}
