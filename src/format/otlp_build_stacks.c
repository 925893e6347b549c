/*
 * Stacks, where the time goes. They are hashed by content (docs/decisions/0002) and looked up; only
 * one that the dictionary does not have is stored. Samples come in batches, and each step is done
 * for a whole batch, so that the memory it will need is asked for before it is needed.
 */
#include "format/otlp_builder.h"
#include "format/protobuf.h"

#define BATCH	    32
/* Bytes of a packed list that is decoded at once: no more locations than there are multipliers. */
#define QUICK_BYTES (STACK_MULTIPLIERS - 4)

/* A stack on its way: its locations in b->scratch. */
struct growing {
	size_t index;
	size_t base; /* where they begin */
	uint32_t locations;
	uint32_t depth; /* in frames */
	uint64_t sum, hash;
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

static enum err reserve_locations(struct otlp_builder *b, const struct growing *g, size_t n)
{
	return mem_grow(&b->scratch.v, &b->scratch.cap, g->base + g->locations + n,
			sizeof(*b->scratch.v), VEC_CEILING);
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
	TRY(reserve_locations(b, g, 1));
	b->scratch.v[g->base + g->locations++] = (uint32_t)index;
	for (uint32_t i = 0; i < place.n; i++) {
		uint64_t hash =
			place.n == 1 ? b->location_hashes[index] : b->frame_hashes.v[place.at + i];

		g->sum += hash * content_multiplier(b->d, g->depth++);
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

typedef uint32_t four __attribute__((vector_size(16)));

/* Of numbers below 2^28, as pb_small_varints() gives: a difference below 0 is seen by its sign. */
static bool all_below(const uint32_t *indices, size_t n, size_t limit)
{
	uint32_t last = (uint32_t)(limit < INT32_MAX ? limit : INT32_MAX) - 1, rest = 0;
	four below = {0}, next;
	size_t i = 0;

	for (; i + 4 <= n; i += 4) {
		memcpy(&next, indices + i, sizeof(next));
		below |= last - next;
	}
	for (; i < n; i++)
		rest |= last - indices[i];
	return limit && !((below[0] | below[1] | below[2] | below[3] | rest) >> 31);
}

/* Sums the hashes of locations that are one frame each; false when one is not, or is not known.
 * Behind the last index there are three to spare. */
static bool sum_single(const struct otlp_builder *b, uint32_t *indices, size_t n, uint64_t *ret)
{
	const uint64_t *hashes = b->location_hashes, *m = b->d->multipliers;
	size_t unknown = 0, spare = (0 - n) & 3;
	uint64_t sum = 0;

	if (!all_below(indices, n, b->t->locations.n))
		return false;
	/* The last location is followed by a 0. */
	for (size_t i = 0; i < 3; i++)
		indices[n + i] = (uint32_t)b->t->locations.n;
	for (size_t i = 0; i < n; i += 4) {
		uint64_t h0 = hashes[indices[i]], h1 = hashes[indices[i + 1]];
		uint64_t h2 = hashes[indices[i + 2]], h3 = hashes[indices[i + 3]];

		unknown += !h0 + !h1 + (!h2 + !h3);
		sum += h0 * m[i] + h1 * m[i + 1] + (h2 * m[i + 2] + h3 * m[i + 3]);
	}
	*ret = sum;
	return unknown == spare;
}

static enum err know_locations(struct otlp_builder *b, size_t first, size_t n)
{
	for (size_t i = first; i < first + n; i++) {
		uint32_t index = b->scratch.v[i];

		if (index < b->t->locations.n && !b->location_hashes[index] &&
		    !b->locations[index].n)
			TRY(otlp_location(b, index));
	}
	return ERR_OK;
}

/* The usual stack: one packed list, of locations that are one frame each. */
static enum err expand_usual(struct otlp_builder *b, struct growing *g, bool *ret_done)
{
	struct str packed = packed_stack(b, g->index);
	const uint8_t *p = (const uint8_t *)packed.p, *end = p ? p + packed.n : p;
	uint32_t *indices;
	size_t n;
	bool done;

	if (!packed.n || packed.n > QUICK_BYTES)
		return ERR_OK;
	TRY(reserve_locations(b, g, packed.n + PB_RUN_SLACK));
	indices = b->scratch.v + g->base;
	n = pb_small_varints(&p, end, b->t->readable, b->scratch.v + g->base,
			     packed.n + PB_RUN_SLACK);
	if (p < end || n > b->out->limits.max_depth || n > b->frame_budget)
		return ERR_OK;
	done = sum_single(b, indices, n, &g->sum);
	if (!done) {
		TRY(know_locations(b, g->base, n));
		done = sum_single(b, indices, n, &g->sum);
	}
	if (done)
		g->locations = g->depth = (uint32_t)n;
	else
		g->sum = 0;
	*ret_done = done;
	return ERR_OK;
}

/* Hashes a stack and puts its locations behind those of the stack before. */
static enum err expand(struct otlp_builder *b, struct growing *g)
{
	bool done = false;

	TRY(expand_usual(b, g, &done));
	if (!done) {
		TRY(add_packed(b, g, packed_stack(b, g->index)));
		TRY(add_unpacked(b, g, b->t->stacks.v[g->index]));
	}
	b->frame_budget -= g->depth;
	g->hash = content_stack(g->sum, g->depth);
	return ERR_OK;
}

/* The frames of a location, of which the first is not known by the location. */
static enum err store_location(struct otlp_builder *b, uint32_t index, uint32_t *ret)
{
	const struct otlp_place *place = &b->locations[index];

	if (place->n == 1 || b->frames.v[place->at] == NOT_YET)
		TRY(otlp_store_location(b, index));
	if (place->n == 1)
		*ret = b->location_frames[index];
	else
		memcpy(ret, b->frames.v + place->at, place->n * sizeof(*ret));
	return ERR_OK;
}

/* A stack the dictionary lacks: its frames, stored first where they are new. */
static enum err store(struct otlp_builder *b, const struct growing *g, uint32_t *ret)
{
	const uint32_t *index = b->scratch.v + g->base, *end = index + g->locations;
	uint32_t *frame;

	b->stack_scratch.n = 0;
	TRY(vec_reserve(&b->stack_scratch, g->depth));
	frame = b->stack_scratch.v;
	for (const uint32_t *next = index; next < end; next++)
		if (__builtin_expect(b->location_frames[*next] == NOT_YET, 0))
			map_prefetch(&b->d->frames.index, b->location_hashes[*next]);
	for (; index < end; index++) {
		*frame = b->location_frames[*index];
		if (__builtin_expect(*frame == NOT_YET, 0))
			TRY(store_location(b, *index, frame));
		/* One is all they are, if there are as many frames as locations. */
		frame += g->depth == g->locations ? 1 : b->locations[*index].n;
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
	size_t count = 0, base = 0;

	for (size_t i = 0; i < n; i++) {
		int32_t index = b->t->samples.v[first + i].stack;
		struct growing *g = &batch[count];

		if (index < 0 || (size_t)index >= b->t->stacks.n || b->stacks[index] != NOT_YET)
			continue;
		*g = (struct growing){.index = (size_t)index, .base = base};
		TRY(expand(b, g));
		map_prefetch(&b->d->stacks.index, g->hash);
		base += g->locations;
		count++;
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
