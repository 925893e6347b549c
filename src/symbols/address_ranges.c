#include "symbols/address_ranges.h"

#include <stdlib.h>

/* The ranges that hold the current address, the one of highest priority at the top. */
struct heap {
	const struct address_range **v;
	size_t n;
};

static bool above(const struct address_range *a, const struct address_range *b)
{
	return a->priority != b->priority ? a->priority > b->priority : a->start > b->start;
}

static void heap_push(struct heap *h, const struct address_range *range)
{
	size_t i = h->n++;

	for (; i && above(range, h->v[(i - 1) / 2]); i = (i - 1) / 2)
		h->v[i] = h->v[(i - 1) / 2];
	h->v[i] = range;
}

static void heap_pop(struct heap *h)
{
	const struct address_range *last = h->v[--h->n];
	size_t i = 0;

	for (size_t child; (child = 2 * i + 1) < h->n; i = child) {
		if (child + 1 < h->n && above(h->v[child + 1], h->v[child]))
			child++;
		if (!above(h->v[child], last))
			break;
		h->v[i] = h->v[child];
	}
	h->v[i] = last;
}

static int by_start(const void *pa, const void *pb)
{
	const struct address_range *a = pa, *b = pb;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return a->priority < b->priority ? -1 : a->priority > b->priority;
}

enum err address_ranges_add(struct address_ranges *r, struct address_range range)
{
	return range.start < range.end ? vec_push(r, range) : ERR_OK;
}

static enum err emit(struct address_ranges *out, const struct address_range *from, uint64_t start,
		     uint64_t end)
{
	struct address_range *last = out->n ? &out->v[out->n - 1] : NULL;
	struct address_range range = *from;

	if (last && last->end == start && last->value == from->value &&
	    last->priority == from->priority) {
		last->end = end;
		return ERR_OK;
	}
	range.start = start;
	range.end = end;
	return vec_push(out, range);
}

/* Every round ends a range or begins one: at most two for each. */
static enum err sweep(const struct address_ranges *in, struct heap *active,
		      struct address_ranges *out)
{
	size_t next = 0;
	uint64_t at = 0, end;

	for (;;) {
		while (active->n && active->v[0]->end <= at)
			heap_pop(active);
		if (!active->n && next == in->n)
			return ERR_OK;
		if (!active->n && in->v[next].start > at)
			at = in->v[next].start;
		while (next < in->n && in->v[next].start <= at)
			heap_push(active, &in->v[next++]);
		if (active->v[0]->end <= at)
			continue;
		end = active->v[0]->end;
		if (next < in->n && in->v[next].start < end)
			end = in->v[next].start;
		TRY(emit(out, active->v[0], at, end));
		at = end;
	}
}

static bool disjoint(const struct address_ranges *r)
{
	for (size_t i = 1; i < r->n; i++)
		if (r->v[i].start < r->v[i - 1].end)
			return false;
	return true;
}

enum err address_ranges_flatten(struct address_ranges *r)
{
	struct address_ranges out = {0};
	struct heap active = {0};
	enum err error = ERR_NO_MEMORY;

	if (r->n < 2)
		return ERR_OK;
	qsort(r->v, r->n, sizeof(*r->v), by_start);
	if (disjoint(r))
		return ERR_OK;
	active.v = mem_zalloc(r->n, sizeof(*active.v));
	if (active.v)
		error = sweep(r, &active, &out);
	mem_free(active.v);
	if (error) {
		address_ranges_release(&out);
		return error;
	}
	address_ranges_release(r);
	*r = out;
	return ERR_OK;
}

const struct address_range *address_ranges_find(const struct address_ranges *r, uint64_t address)
{
	size_t low = 0, high = r->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (r->v[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low < r->n && r->v[low].start <= address ? &r->v[low] : NULL;
}

void address_ranges_release(struct address_ranges *r)
{
	vec_release(r);
}
