/*
 * The call tree, from the root down. All branches that are large enough are found first, with their
 * sums (tree_groups.c); here those that stay become nodes, in the order of their names. What is
 * below the threshold is summed and never looked at deeper, so the cost follows what is kept.
 * Branches wait in a list of our own: a stack of any depth needs no C stack.
 */
#include "model/tree.h"

#include <math.h>
#include <stdlib.h>

#include "model/frame_order.h"
#include "model/tree_builder.h"

#define FEW_CHILDREN 8

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

/* Adds what ended at the node to its own value. */
static void add_self(struct tree_builder *b, uint32_t node, const struct item *item)
{
	const int64_t *values = builder_values(b, item);

	for (uint32_t c = 0; c < b->sums->columns; c++) {
		int64_t *self = &b->self.v[(size_t)node * b->sums->columns + c];

		*self = value_add(*self, values[c]);
	}
}

/* One node for the children that do not stay. */
static enum err add_pruned(struct tree_builder *b, const struct branch *p, uint32_t parent)
{
	uint32_t columns = b->sums->columns, node;

	TRY(add_node(b, parent, TREE_PRUNED, &node));
	for (uint32_t i = p->first; i < p->first + p->count; i++) {
		const struct branch *child = &b->branches.v[i];
		const int64_t *sums = builder_sums(b, i);

		if (!(child->share < b->min_share))
			continue;
		b->nodes.v[node].dropped += child->key == BRANCH_REST ? child->count : 1;
		for (uint32_t c = 0; c < columns; c++) {
			int64_t *self = &b->self.v[(size_t)node * columns + c];

			*self = value_add(*self, sums[c]);
			b->pruned[c] += (double)sums[columns + c];
		}
	}
	b->pruned_nodes++;
	return ERR_OK;
}

static int compare_branches(const void *left, const void *right, void *context)
{
	const struct tree_builder *b = context;
	const uint32_t *frame = b->keys->representative.v;
	uint32_t a = b->branches.v[*(const uint32_t *)left].key;
	uint32_t c = b->branches.v[*(const uint32_t *)right].key;
	int order = frame_compare(b->dict, frame[a], frame[c], b->lines);

	return order ? order : (a > c) - (a < c);
}

static void sort_kept(struct tree_builder *b)
{
	uint32_t *kept = b->kept.v;

	if (b->kept.n > FEW_CHILDREN) {
		qsort_r(kept, b->kept.n, sizeof(*kept), compare_branches, b);
		return;
	}
	for (size_t i = 1; i < b->kept.n; i++) {
		uint32_t child = kept[i];
		size_t at = i;

		for (; at && compare_branches(&child, &kept[at - 1], b) < 0; at--)
			kept[at] = kept[at - 1];
		kept[at] = child;
	}
}

static enum err add_children(struct tree_builder *b, const struct branch *p, uint32_t parent)
{
	size_t waiting = b->pending.n;

	b->kept.n = 0;
	TRY(vec_reserve(&b->kept, p->count));
	for (uint32_t i = p->first; i < p->first + p->count; i++)
		if (!(b->branches.v[i].share < b->min_share))
			b->kept.v[b->kept.n++] = i;
	sort_kept(b);
	TRY(vec_reserve(&b->pending, b->kept.n));
	b->pending.n += b->kept.n;
	for (size_t i = 0; i < b->kept.n; i++) {
		uint32_t branch = b->kept.v[i], node;
		uint32_t key = b->branches.v[branch].key;

		TRY(add_node(b, parent, b->keys->representative.v[key], &node));
		/* Taken from the end: the first child is next. */
		b->pending.v[waiting + b->kept.n - 1 - i] = (struct pending){branch, node};
	}
	return b->kept.n < p->count ? add_pruned(b, p, parent) : ERR_OK;
}

/* A branch with one stack: a chain of nodes with the same value. */
static enum err add_chain(struct tree_builder *b, const struct branch *p, uint32_t node)
{
	const struct item *item = &b->items[p->begin];

	for (uint32_t depth = p->depth; depth < item->n; depth++) {
		uint32_t key = builder_next_key(b, item, depth);

		TRY(add_node(b, node, b->keys->representative.v[key], &node));
	}
	add_self(b, node, item);
	return ERR_OK;
}

static enum err write_branch(struct tree_builder *b, struct pending next)
{
	const struct branch *p = &b->branches.v[next.branch];

	if (branch_is_chain(p))
		return add_chain(b, p, next.node);
	for (uint32_t i = p->begin; i < p->begin + p->ended; i++)
		add_self(b, next.node, &b->items[i]);
	return add_children(b, p, next.node);
}

static enum err write_tree(struct tree_builder *b)
{
	struct pending root = {0};

	TRY(add_node(b, 0, 0, &root.node));
	TRY(vec_push(&b->pending, root));
	while (b->pending.n)
		TRY(write_branch(b, b->pending.v[--b->pending.n]));
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
	b->group_of = mem_alloc(b->sums->stacks * sizeof(*b->group_of));
	if (!b->items || !b->sorted || !b->slots || !b->totals || !b->pruned || !b->group_of)
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
	mem_free(b->group_of);
	vec_release(&b->groups);
	vec_release(&b->group_sums);
	vec_release(&b->branches);
	vec_release(&b->branch_sums);
	vec_release(&b->pending);
	vec_release(&b->kept);
	vec_release(&b->nodes);
	vec_release(&b->self);
}

/* A parent's id is below its child's: one backward pass has all totals. */
static void sum_totals(struct tree *t)
{
	size_t n = t->nodes.n;

	for (uint32_t c = 0; c < t->columns; c++) {
		int64_t *total = t->total + c * n;

		memcpy(total, t->self + c * n, n * sizeof(*total));
		for (size_t i = n; i-- > 1;)
			total[t->nodes.v[i].parent] =
				value_add(total[t->nodes.v[i].parent], total[i]);
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
	TRY(frame_keys_of_sums(&sums, b.lines, &keys));
	TRY(allocate(&b));
	TRY(builder_find_branches(&b));
	TRY(write_tree(&b));
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
