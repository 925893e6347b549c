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
#include "model/top.h"
#include "model/values.h"

/* A distinct stack: where its outermost frame (its leaf when inverted) stands in the pool. */
struct item {
	uint32_t at, n, stack;
};

/* Stacks of one node with one next frame. */
struct group {
	uint32_t key, count, at;
	bool kept;
};

/* A node whose children are not made yet. */
struct pending {
	uint32_t node, begin, end;
};

struct slot {
	uint32_t stamp, group;
};

struct builder {
	const struct dict *dict;
	const struct stack_sums *sums;
	const struct frame_keys *keys;
	bool lines, inverted;
	double *totals; /* magnitude per column */
	double min_share;
	uint32_t max_nodes;

	struct item *items, *sorted;
	size_t item_count;
	struct slot *slots; /* per key */
	uint32_t stamp;
	VEC(struct group) groups;
	VEC(double) group_sums; /* per group: values, then magnitudes, of each column */
	VEC(struct pending) pending;

	VEC(struct tree_node) nodes;
	VEC(double) self; /* [node * columns + column] */
	uint32_t pruned_nodes;
	double *pruned;	  /* magnitude per column */
	double *left_out; /* sum per column below the node at hand */
	bool too_many;
};

static uint32_t next_key(const struct builder *b, const struct item *item, uint32_t depth)
{
	uint32_t at = b->inverted ? item->at + depth : item->at - depth;

	return b->keys->keys[b->dict->stacks.pool.v[at]];
}

static const int64_t *item_values(const struct builder *b, const struct item *item)
{
	return b->sums->v + (size_t)item->stack * b->sums->columns;
}

static enum err add_node(struct builder *b, uint32_t parent, uint32_t frame, uint32_t *ret)
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

static void add_self(struct builder *b, uint32_t node, const struct item *item)
{
	const int64_t *values = item_values(b, item);

	for (uint32_t c = 0; c < b->sums->columns; c++)
		b->self.v[(size_t)node * b->sums->columns + c] += (double)values[c];
}

static enum err find_group(struct builder *b, uint32_t key, uint32_t *ret)
{
	struct slot *slot = &b->slots[key];
	struct group fresh = {.key = key};
	size_t sums = (size_t)b->sums->columns * 2;

	if (slot->stamp != b->stamp) {
		*slot = (struct slot){b->stamp, (uint32_t)b->groups.n};
		TRY(vec_reserve(&b->group_sums, sums));
		TRY(vec_push(&b->groups, fresh));
		memset(b->group_sums.v + b->group_sums.n, 0, sums * sizeof(double));
		b->group_sums.n += sums;
	}
	*ret = slot->group;
	return ERR_OK;
}

static void add_to_group(struct builder *b, uint32_t group, const struct item *item)
{
	uint32_t columns = b->sums->columns;
	double *sums = b->group_sums.v + (size_t)group * columns * 2;
	const int64_t *values = item_values(b, item);

	b->groups.v[group].count++;
	for (uint32_t c = 0; c < columns; c++) {
		sums[c] += (double)values[c];
		sums[columns + c] += fabs((double)values[c]);
	}
}

static enum err group_items(struct builder *b, const struct pending *p)
{
	uint32_t depth = b->nodes.v[p->node].depth, group;

	b->groups.n = b->group_sums.n = 0;
	b->stamp++;
	for (uint32_t i = p->begin; i < p->end; i++) {
		if (b->items[i].n == depth) {
			add_self(b, p->node, &b->items[i]);
			continue;
		}
		TRY(find_group(b, next_key(b, &b->items[i], depth), &group));
		add_to_group(b, group, &b->items[i]);
	}
	return ERR_OK;
}

/* Large enough in one column is large enough. */
static bool large_enough(const struct builder *b, const double *magnitudes)
{
	if (!(b->min_share > 0))
		return true;
	for (uint32_t c = 0; c < b->sums->columns; c++)
		if (b->totals[c] > 0 && magnitudes[c] >= b->min_share * b->totals[c])
			return true;
	return false;
}

/* Decides which groups become children; the others are summed up. Returns how many those are. */
static uint32_t judge_groups(struct builder *b)
{
	uint32_t columns = b->sums->columns, dropped = 0;

	memset(b->left_out, 0, columns * sizeof(*b->left_out));
	for (size_t g = 0; g < b->groups.n; g++) {
		const double *sums = b->group_sums.v + g * columns * 2;

		b->groups.v[g].kept = large_enough(b, sums + columns);
		if (b->groups.v[g].kept)
			continue;
		dropped++;
		for (uint32_t c = 0; c < columns; c++) {
			b->left_out[c] += sums[c];
			b->pruned[c] += sums[columns + c];
		}
	}
	return dropped;
}

static enum err add_pruned(struct builder *b, uint32_t parent, uint32_t dropped)
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
	const struct builder *b = context;
	const uint32_t *frame = b->keys->representative.v;
	int order;

	if (a->kept != c->kept)
		return a->kept ? -1 : 1;
	if (!a->kept)
		return (a->key > c->key) - (a->key < c->key);
	order = frame_compare(b->dict, frame[a->key], frame[c->key], b->lines);
	return order ? order : (a->key > c->key) - (a->key < c->key);
}

/* Puts the items of kept groups side by side, in the order of the groups. */
static void move_items(struct builder *b, const struct pending *p)
{
	uint32_t depth = b->nodes.v[p->node].depth, at = p->begin;

	for (size_t g = 0; g < b->groups.n; g++) {
		struct group *group = &b->groups.v[g];

		b->slots[group->key].group = (uint32_t)g;
		group->at = at;
		at += group->kept ? group->count : 0;
	}
	for (uint32_t i = p->begin; i < p->end; i++) {
		struct group *group;

		if (b->items[i].n == depth)
			continue;
		group = &b->groups.v[b->slots[next_key(b, &b->items[i], depth)].group];
		if (group->kept)
			b->sorted[group->at++] = b->items[i];
	}
	memcpy(b->items + p->begin, b->sorted + p->begin, (at - p->begin) * sizeof(*b->items));
}

static enum err add_children(struct builder *b, const struct pending *p)
{
	uint32_t begin = p->begin;
	size_t first = b->pending.n;

	for (size_t g = 0; g < b->groups.n && b->groups.v[g].kept; g++) {
		const struct group *group = &b->groups.v[g];
		struct pending child = {.begin = begin, .end = begin + group->count};

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
static enum err add_chain(struct builder *b, const struct pending *p)
{
	const struct item *item = &b->items[p->begin];
	uint32_t node = p->node;

	for (uint32_t depth = b->nodes.v[node].depth; depth < item->n; depth++) {
		uint32_t key = next_key(b, item, depth);

		TRY(add_node(b, node, b->keys->representative.v[key], &node));
	}
	add_self(b, node, item);
	return ERR_OK;
}

static enum err expand(struct builder *b, const struct pending *p)
{
	uint32_t dropped;

	if (p->end - p->begin == 1 && p->node)
		return add_chain(b, p);
	TRY(group_items(b, p));
	dropped = judge_groups(b);
	if (b->groups.n > 1)
		qsort_r(b->groups.v, b->groups.n, sizeof(*b->groups.v), compare_groups, b);
	move_items(b, p);
	TRY(add_children(b, p));
	return dropped ? add_pruned(b, p->node, dropped) : ERR_OK;
}

static void fill_items(struct builder *b)
{
	const struct sequence *stacks = b->dict->stacks.entries.v;

	b->item_count = 0;
	for (uint32_t s = 0; s < b->sums->stacks; s++) {
		uint32_t n = stacks[s].n, at = stacks[s].at;

		if (!stack_sums_any(b->sums, s))
			continue;
		if (!b->inverted && n)
			at += n - 1;
		b->items[b->item_count++] = (struct item){at, n, s};
	}
}

static enum err grow_tree(struct builder *b)
{
	struct pending all;

	fill_items(b);
	b->nodes.n = b->self.n = b->pending.n = 0;
	b->pruned_nodes = 0;
	b->too_many = false;
	memset(b->pruned, 0, b->sums->columns * sizeof(*b->pruned));
	all = (struct pending){.end = (uint32_t)b->item_count};
	TRY(add_node(b, 0, 0, &all.node));
	TRY(vec_push(&b->pending, all));
	while (b->pending.n) {
		struct pending next = b->pending.v[--b->pending.n];

		TRY(expand(b, &next));
		if (b->max_nodes && b->nodes.n > b->max_nodes) {
			b->too_many = true;
			return ERR_OK;
		}
	}
	return ERR_OK;
}

/*
 * Raises the threshold until the ceiling on nodes holds. A threshold far below one node's share of
 * the ceiling would only be tried in vain.
 */
static enum err grow_within_limits(struct builder *b)
{
	TRY(grow_tree(b));
	if (b->too_many && b->min_share < 1.0 / 32 / b->max_nodes)
		b->min_share = 1.0 / 32 / b->max_nodes;
	while (b->too_many && b->min_share <= 1) {
		b->min_share *= 2;
		TRY(grow_tree(b));
	}
	return ERR_OK;
}

static enum err allocate(struct builder *b)
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

static void release(struct builder *b)
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

static enum err hand_over(struct builder *b, struct tree *t)
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
	struct builder b = {.sums = &sums, .keys = &keys, .min_share = options->min_share};
	struct tree tree = {.columns = count};
	enum err e;

	TRY(stack_sums_build(columns, count, &sums));
	b.dict = tree.dict = sums.dict;
	b.lines = options->flags & TREE_LINES;
	b.inverted = options->flags & TREE_INVERTED;
	b.max_nodes = options->max_nodes;
	TRY(frame_keys_build(sums.dict, b.lines, &keys));
	TRY(allocate(&b));
	TRY(grow_within_limits(&b));
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
