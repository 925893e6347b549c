/*
 * The call tree, from the root down. A node owns a range of the distinct stacks; expanding it
 * groups the range by the next frame, so that every child owns a range again. What is below the
 * threshold is summed and never looked at deeper, so the cost follows what is kept. Nodes wait in
 * a list of our own: a stack of any depth needs no C stack.
 */
#include "model/tree.h"

#include <math.h>
#include <stdlib.h>

#include "model/frame_order.h"
#include "model/tree_builder.h"

static enum err add_node(struct tree_builder *b, uint32_t parent, uint32_t frame, uint32_t *ret)
{
	uint32_t columns = b->sums->columns;
	uint32_t depth = b->nodes.n ? b->nodes.v[parent].depth + 1 : 0;
	struct tree_node node = {.parent = parent, .frame = frame, .depth = depth};

	if (b->nodes.n >= UINT32_MAX - 1)
		return ERR_TABLE_FULL;
	TRY(vec_reserve(&b->self, columns));
	TRY(vec_push(&b->nodes, node));
	memset(b->self.v + b->self.n, 0, columns * sizeof(*b->self.v));
	b->self.n += columns;
	*ret = (uint32_t)b->nodes.n - 1;
	return ERR_OK;
}

static enum err add_pruned(struct tree_builder *b, uint32_t parent, uint32_t dropped)
{
	uint32_t columns = b->sums->columns, node;

	TRY(add_node(b, parent, TREE_PRUNED, &node));
	b->nodes.v[node].dropped = dropped;
	memcpy(b->self.v + (size_t)node * columns, b->left_out, columns * sizeof(*b->left_out));
	b->pruned_nodes++;
	return ERR_OK;
}

static int compare_groups(const void *left, const void *right, void *context)
{
	const struct group *a = left, *c = right;
	const struct tree_builder *b = context;
	const uint32_t *frame = b->keys->representative.v;
	int order;

	if (a->kept != c->kept)
		return a->kept ? -1 : 1;
	if (!a->kept)
		return (a->key > c->key) - (a->key < c->key);
	order = frame_compare(b->dict, frame[a->key], frame[c->key], b->lines);
	return order ? order : (a->key > c->key) - (a->key < c->key);
}

static enum err add_children(struct tree_builder *b, const struct pending *p)
{
	uint32_t begin = p->begin;
	size_t first = b->pending.n;

	for (size_t g = 0; g < b->groups.n && b->groups.v[g].kept; g++) {
		const struct group *group = &b->groups.v[g];
		struct pending child = {
			.begin = begin, .end = begin + group->count, .depth = p->depth + 1};

		TRY(add_node(b, p->node, b->keys->representative.v[group->key], &child.node));
		TRY(vec_push(&b->pending, child));
		begin = child.end;
	}
	/* Taken from the end: the first child is next. */
	for (size_t i = first, j = b->pending.n; i + 1 < j; i++) {
		struct pending swap = b->pending.v[--j];

		b->pending.v[j] = b->pending.v[i];
		b->pending.v[i] = swap;
	}
	return ERR_OK;
}

/* A range of one stack is a chain: nothing to group, and as large to its end as here. */
static enum err add_chain(struct tree_builder *b, const struct pending *p)
{
	const struct item *item = &b->items[p->begin];
	uint32_t node = p->node;

	for (uint32_t depth = p->depth; depth < item->n; depth++) {
		uint32_t key = builder_next_key(b, item, depth);

		TRY(add_node(b, node, b->keys->representative.v[key], &node));
	}
	builder_add_self(b, node, item);
	return ERR_OK;
}

static enum err expand(struct tree_builder *b, const struct pending *p)
{
	uint32_t dropped;

	if (p->end - p->begin == 1 && p->node)
		return add_chain(b, p);
	TRY(builder_group(b, p));
	dropped = builder_judge(b);
	if (b->groups.n > 1)
		qsort_r(b->groups.v, b->groups.n, sizeof(*b->groups.v), compare_groups, b);
	builder_move(b, p);
	TRY(add_children(b, p));
	return dropped ? add_pruned(b, p->node, dropped) : ERR_OK;
}

static enum err grow_tree(struct tree_builder *b)
{
	struct pending all = {.end = (uint32_t)b->item_count};

	TRY(add_node(b, 0, 0, &all.node));
	TRY(vec_push(&b->pending, all));
	while (b->pending.n) {
		struct pending next = b->pending.v[--b->pending.n];

		TRY(expand(b, &next));
	}
	return ERR_OK;
}

static enum err allocate(struct tree_builder *b)
{
	size_t columns = b->sums->columns;

	b->items = mem_alloc(b->sums->stacks * sizeof(*b->items));
	b->sorted = mem_alloc(b->sums->stacks * sizeof(*b->sorted));
	b->slots = mem_zalloc(b->keys->representative.n, sizeof(*b->slots));
	b->totals = mem_zalloc(columns, sizeof(*b->totals));
	b->pruned = mem_zalloc(columns, sizeof(*b->pruned));
	b->left_out = mem_zalloc(columns, sizeof(*b->left_out));
	if (!b->items || !b->sorted || !b->slots || !b->totals || !b->pruned || !b->left_out)
		return ERR_NO_MEMORY;
	for (size_t i = 0; i < b->sums->stacks * columns; i++)
		b->totals[i % columns] += fabs((double)b->sums->v[i]);
	return ERR_OK;
}

static void release(struct tree_builder *b)
{
	mem_free(b->items);
	mem_free(b->sorted);
	mem_free(b->slots);
	mem_free(b->totals);
	mem_free(b->pruned);
	mem_free(b->left_out);
	vec_release(&b->groups);
	vec_release(&b->group_sums);
	vec_release(&b->pending);
	vec_release(&b->nodes);
	vec_release(&b->self);
}

/* A parent's id is below its child's: one backward pass has all totals. */
static void sum_totals(struct tree *t)
{
	size_t n = t->nodes.n;

	for (uint32_t c = 0; c < t->columns; c++) {
		double *total = t->total + c * n;

		memcpy(total, t->self + c * n, n * sizeof(*total));
		for (size_t i = n; i-- > 1;)
			total[t->nodes.v[i].parent] += total[i];
	}
}

static enum err hand_over(struct tree_builder *b, struct tree *t)
{
	uint32_t columns = b->sums->columns;
	size_t n = b->nodes.n;

	t->total = mem_alloc(n * columns * sizeof(*t->total));
	t->self = mem_alloc(n * columns * sizeof(*t->self));
	if (!t->total || !t->self)
		return ERR_NO_MEMORY;
	for (size_t i = 0; i < n; i++)
		for (uint32_t c = 0; c < columns; c++)
			t->self[c * n + i] = b->self.v[i * columns + c];
	memcpy(&t->nodes, &b->nodes, sizeof(t->nodes));
	memset(&b->nodes, 0, sizeof(b->nodes));
	t->pruned_nodes = b->pruned_nodes;
	for (uint32_t c = 0; c < columns; c++)
		if (b->totals[c] > 0 && b->pruned[c] / b->totals[c] > t->pruned_share)
			t->pruned_share = b->pruned[c] / b->totals[c];
	sum_totals(t);
	return ERR_OK;
}

enum err tree_build(const struct tree_column *columns, uint32_t count,
		    const struct tree_options *options, struct tree *ret)
{
	CLEANUP(stack_sums_release) struct stack_sums sums = {0};
	CLEANUP(frame_keys_release) struct frame_keys keys = {0};
	CLEANUP(release)
	struct tree_builder b = {.sums = &sums, .keys = &keys, .min_share = options->min_share};
	struct tree tree = {.columns = count};
	enum err e;

	TRY(stack_sums_build(columns, count, &sums));
	b.dict = tree.dict = sums.dict;
	b.lines = options->flags & TREE_LINES;
	b.inverted = options->flags & TREE_INVERTED;
	b.max_nodes = options->max_nodes;
	TRY(frame_keys_build(sums.dict, b.lines, &keys));
	TRY(allocate(&b));
	builder_fill(&b);
	TRY(builder_raise_threshold(&b));
	TRY(grow_tree(&b));
	e = hand_over(&b, &tree);
	if (e) {
		tree_release(&tree);
		return e;
	}
	*ret = tree;
	return ERR_OK;
}

void tree_release(struct tree *t)
{
	vec_release(&t->nodes);
	mem_free(t->self);
	mem_free(t->total);
	t->self = t->total = NULL;
}
