#include <math.h>

#include "model/tree_builder.h"

/* Of equal shares the one that was found first. */
static bool comes_before(const struct pending *a, const struct pending *b)
{
	return a->share != b->share ? a->share > b->share : a->begin < b->begin;
}

static enum err heap_push(struct tree_builder *b, struct pending p)
{
	struct pending *heap;
	size_t i = b->pending.n;

	TRY(vec_push(&b->pending, p));
	heap = b->pending.v;
	for (; i && comes_before(&p, &heap[(i - 1) / 2]); i = (i - 1) / 2)
		heap[i] = heap[(i - 1) / 2];
	heap[i] = p;
	return ERR_OK;
}

static struct pending heap_pop(struct tree_builder *b)
{
	struct pending *heap = b->pending.v, first = heap[0], last = heap[--b->pending.n];
	size_t n = b->pending.n, i = 0;

	for (size_t child; (child = 2 * i + 1) < n; i = child) {
		if (child + 1 < n && comes_before(&heap[child + 1], &heap[child]))
			child++;
		if (!comes_before(&heap[child], &last))
			break;
		heap[i] = heap[child];
	}
	heap[i] = last;
	return first;
}

/* How many nodes there are so far, and how many children of each are not among them. */
struct census {
	uint64_t nodes, pruned;
	VEC(uint32_t) missing;
};

static enum err count_children(struct tree_builder *b, const struct pending *p,
			       struct census *census)
{
	uint32_t node = (uint32_t)census->missing.n, begin = p->begin;

	TRY(builder_group(b, p));
	(void)builder_judge(b);
	builder_move(b, p);
	TRY(vec_push(&census->missing, (uint32_t)b->groups.n));
	census->nodes++;
	census->pruned += b->groups.n > 0;
	for (size_t g = 0; g < b->groups.n; g++) {
		const struct group *group = &b->groups.v[g];
		struct pending child = {.node = node, .begin = begin, .depth = p->depth + 1};

		if (!group->kept)
			continue;
		child.end = begin += group->count;
		child.share = group->share;
		TRY(heap_push(b, child));
	}
	return ERR_OK;
}

static enum err take_census(struct tree_builder *b, struct census *census)
{
	struct pending all = {.end = (uint32_t)b->item_count, .share = INFINITY};

	TRY(count_children(b, &all, census));
	while (b->pending.n) {
		struct pending next = heap_pop(b);

		census->pruned -= --census->missing.v[next.node] == 0;
		if (next.end - next.begin == 1)
			census->nodes += b->items[next.begin].n - next.depth + 1;
		else
			TRY(count_children(b, &next, census));
		if (census->nodes + census->pruned > b->max_nodes) {
			b->min_share = nextafter(next.share, INFINITY);
			break;
		}
	}
	return ERR_OK;
}

enum err builder_raise_threshold(struct tree_builder *b)
{
	struct census census = {0};
	uint64_t frames = 1;
	enum err e;

	for (size_t i = 0; i < b->item_count; i++)
		frames += b->items[i].n;
	if (!b->max_nodes || frames <= b->max_nodes)
		return ERR_OK;
	b->counting = true;
	e = take_census(b, &census);
	vec_release(&census.missing);
	b->counting = false;
	b->pending.n = 0;
	memset(b->pruned, 0, b->sums->columns * sizeof(*b->pruned));
	builder_fill(b);
	return e;
}
