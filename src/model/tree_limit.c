/*
 * The threshold that keeps to a ceiling on nodes. How many nodes a threshold leaves is a sum of
 * events, each at the share from which on it counts: a branch counts one from its own share on, and
 * one more for the pruned node below it until its smallest child stays too. So no tree is built to
 * count it, and the threshold is found by looking at the events a few bits of their share at a
 * time.
 */
#include <math.h>

#include "model/tree_builder.h"

#define DIGIT_BITS 11
#define DIGITS	   ((size_t)1 << DIGIT_BITS)

struct event {
	uint64_t share; /* the bits of the double: of two positive ones the larger has more */
	int64_t nodes;
};

struct events {
	VEC(struct event) v;
};

static void events_release(struct events *e)
{
	vec_release(&e->v);
}

static uint64_t share_bits(double share)
{
	uint64_t bits;

	memcpy(&bits, &share, sizeof(bits));
	return bits;
}

static double bits_share(uint64_t bits)
{
	double share;

	memcpy(&share, &bits, sizeof(share));
	return share;
}

static void add_event(struct events *events, double share, int64_t nodes)
{
	events->v.v[events->v.n++] = (struct event){share_bits(share), nodes};
}

static enum err collect(const struct tree_builder *b, struct events *events)
{
	TRY(vec_reserve(&events->v, b->branches.n * 2));
	for (size_t i = 0; i < b->branches.n; i++) {
		const struct branch *p = &b->branches.v[i];

		if (p->key == BRANCH_REST || p->share < b->min_share)
			continue;
		if (branch_is_chain(p))
			add_event(events, p->share, (int64_t)b->items[p->begin].n - p->depth + 1);
		else
			add_event(events, p->share, p->count ? 2 : 1);
		/* A child that is out already is never the one that completes its parent. */
		if (p->count && p->least > 0 && !(p->least < b->min_share))
			add_event(events, p->least, -1);
	}
	return ERR_OK;
}

static uint64_t digit_of(uint64_t share, unsigned shift)
{
	return share >> shift & (DIGITS - 1);
}

/* Of the events, those with the digit. */
static void keep_digit(struct events *events, unsigned shift, uint64_t digit)
{
	size_t kept = 0;

	vec_for_each (e, &events->v)
		if (digit_of(e->share, shift) == digit)
			events->v.v[kept++] = *e;
	events->v.n = kept;
}

/* The largest share with which there are more nodes than allowed; false when there is none. */
static bool find_first_too_many(struct events *events, int64_t allowed, double *ret)
{
	unsigned shift = (64 + DIGIT_BITS - 1) / DIGIT_BITS * DIGIT_BITS;

	while (shift) {
		int64_t nodes[DIGITS] = {0};
		uint64_t digit = DIGITS;

		shift -= DIGIT_BITS;
		vec_for_each (e, &events->v)
			nodes[digit_of(e->share, shift)] += e->nodes;
		while (digit && nodes[digit - 1] <= allowed)
			allowed -= nodes[--digit];
		if (!digit)
			return false;
		keep_digit(events, shift, digit - 1);
	}
	*ret = bits_share(events->v.v[0].share);
	return true;
}

enum err builder_raise_threshold(struct tree_builder *b)
{
	CLEANUP(events_release) struct events events = {0};
	double share;

	TRY(collect(b, &events));
	if (find_first_too_many(&events, b->max_nodes, &share))
		b->min_share = nextafter(share, INFINITY);
	return ERR_OK;
}
