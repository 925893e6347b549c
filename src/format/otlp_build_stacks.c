/*
 * Stacks, where the time goes. They are hashed by content (docs/decisions/0002) and looked up; only
 * one that the dictionary does not have is stored. Samples come in batches, and each step is done
 * for a whole batch, so that the memory it will need is asked for before it is needed.
 */
#include "format/otlp_builder.h"
#include "format/protobuf.h"

#define BATCH 32
#define CHUNK 64

/* A stack on its way: its locations are in b->scratch, from `base` on. */
struct growing {
	size_t index;
	size_t base;
	uint32_t locations;
	uint64_t sum, hash;
	uint32_t depth;
	uint32_t quick; /* depth up to which there is room and budget for single frames */
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

static enum err reserve_scratch(struct otlp_builder *b, size_t n)
{
	return mem_grow(&b->scratch.v, &b->scratch.cap, n, sizeof(*b->scratch.v), VEC_CEILING);
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
	TRY(reserve_scratch(b, g->base + g->locations + 1));
	b->scratch.v[g->base + g->locations++] = (uint32_t)index;
	for (uint32_t i = 0; i < place.n; i++) {
		uint64_t hash = place.n == 1 ? place.hash : b->frame_hashes.v[place.at + i];

		g->sum += hash * content_multiplier(b->d, g->depth++);
	}
	return ERR_OK;
}

/* Locations of one frame that are known already, as nearly all are: returns how many of them. */
static uint32_t add_known(struct otlp_builder *b, struct growing *g, const int64_t *indices,
			  uint32_t n)
{
	const struct otlp_place *locations = b->locations;
	const uint64_t *multipliers = b->d->multipliers + g->depth;
	uint32_t *places = b->scratch.v + g->base + g->locations;
	uint64_t sum = 0;
	uint32_t i;

	if (g->depth + n > g->quick)
		return 0;
	for (i = 0; i < n; i++) {
		const struct otlp_place *place;

		if ((uint64_t)indices[i] >= b->t->locations.n)
			break;
		place = &locations[indices[i]];
		if (place->n != 1)
			break;
		places[i] = (uint32_t)indices[i];
		sum += place->hash * multipliers[i];
	}
	g->sum += sum;
	g->depth += i;
	g->locations += i;
	return i;
}

static enum err add_chunk(struct otlp_builder *b, struct growing *g, const int64_t *indices,
			  uint32_t n)
{
	uint32_t done = 0;

	while (done < n) {
		done += add_known(b, g, indices + done, n - done);
		if (done < n)
			TRY(add_location(b, g, indices[done++]));
	}
	return ERR_OK;
}

static enum err add_packed(struct otlp_builder *b, struct growing *g, struct str packed)
{
	const uint8_t *p = (const uint8_t *)packed.p, *end = p + packed.n;
	int64_t indices[CHUNK];
	char place[96];

	while (p < end) {
		uint32_t n = 0;
		uint64_t index;

		while (p < end && n < CHUNK && pb_varint_quick(&p, end, b->t->readable, &index))
			indices[n++] = (int64_t)index;
		TRY(add_chunk(b, g, indices, n));
		if (!n) {
			otlp_place(b, OTLP_STACK, g->index, place);
			return fault_set(&b->out->fault, ERR_CORRUPT,
					 "Stack.location_indices is cut or malformed%s", place);
		}
	}
	return ERR_OK;
}

static enum err add_unpacked(struct otlp_builder *b, struct growing *g, struct otlp_range src)
{
	int64_t indices[CHUNK];

	for (uint32_t i = 0; i < src.n;) {
		uint32_t n = 0;

		while (i < src.n && n < CHUNK)
			indices[n++] = b->t->indices.v[src.at + i++];
		TRY(add_chunk(b, g, indices, n));
	}
	return ERR_OK;
}

/* Hashes a stack and puts its locations into b->scratch. */
static enum err expand(struct otlp_builder *b, size_t index, size_t base, struct growing *g)
{
	uint64_t quick = STACK_MULTIPLIERS;

	quick = quick < b->out->limits.max_depth ? quick : b->out->limits.max_depth;
	quick = quick < b->frame_budget ? quick : b->frame_budget;
	quick = quick < 1024 ? quick : 1024;
	*g = (struct growing){.index = index, .base = base, .quick = (uint32_t)quick};
	TRY(reserve_scratch(b, base + 1024));
	if (index < b->t->packed_stacks.n && b->t->packed_stacks.v[index].n)
		TRY(add_packed(b, g, b->t->packed_stacks.v[index]));
	TRY(add_unpacked(b, g, b->t->stacks.v[index]));
	b->frame_budget -= g->depth;
	g->hash = content_stack(g->sum, g->depth);
	return ERR_OK;
}

/* A stack the dictionary lacks. */
static enum err store(struct otlp_builder *b, const struct growing *g, uint32_t *ret)
{
	b->stack_scratch.n = 0;
	for (uint32_t i = 0; i < g->locations; i++) {
		uint32_t index = b->scratch.v[g->base + i];
		const struct otlp_place *place = &b->locations[index];
		bool single = place->n == 1;

		if ((single ? place->at : b->frames.v[place->at]) == NOT_YET)
			TRY(otlp_store_location(b, index));
		if (single)
			TRY(vec_push(&b->stack_scratch, place->at));
		else
			TRY(vec_append(&b->stack_scratch, b->frames.v + place->at, place->n));
	}
	return dict_add_stack(b->d, g->hash, b->stack_scratch.v, g->depth, ret);
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
	size_t base = 0, count = 0;

	for (size_t i = 0; i < n; i++) {
		int32_t index = b->t->samples.v[first + i].stack;

		if (index < 0 || (size_t)index >= b->t->stacks.n || b->stacks[index] != NOT_YET)
			continue;
		TRY(expand(b, (size_t)index, base, &batch[count]));
		map_prefetch(&b->d->stacks.index, batch[count].hash);
		base += batch[count++].locations;
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
