/*
 * Private to src/model: the work on one call tree (tree.c), in parts of their own: grouping the
 * stacks of a node by their next frame (tree_groups.c), and finding the threshold that keeps to a
 * ceiling on nodes (tree_limit.c).
 */
#pragma once

#include "model/top.h"
#include "model/tree.h"
#include "model/values.h"

/* A distinct stack: where its outermost frame (its leaf when inverted) stands in the pool. */
struct item {
	uint32_t at, n, stack;
};

/* Stacks of one node with one next frame. */
struct group {
	uint32_t key, count, at;
	bool kept;
	double share;
};

/* A node whose children are not made yet. */
struct pending {
	uint32_t node, begin, end, depth;
	double share;
};

struct slot {
	uint32_t stamp, group;
};

struct tree_builder {
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
	bool counting;	  /* nodes are counted, not made */
};

/* The key of the frame at `depth`, counted from the root of the tree. */
static inline uint32_t builder_next_key(const struct tree_builder *b, const struct item *item,
					uint32_t depth)
{
	uint32_t at = b->inverted ? item->at + depth : item->at - depth;

	return b->keys->keys[b->dict->stacks.pool.v[at]];
}

static inline const int64_t *builder_values(const struct tree_builder *b, const struct item *item)
{
	return b->sums->v + (size_t)item->stack * b->sums->columns;
}

/* Adds what ended at the node to its own value. */
static inline void builder_add_self(struct tree_builder *b, uint32_t node, const struct item *item)
{
	const int64_t *values = builder_values(b, item);

	for (uint32_t c = 0; c < b->sums->columns; c++)
		b->self.v[(size_t)node * b->sums->columns + c] += (double)values[c];
}

/* The distinct stacks that have a value, in the order of their ids. */
void builder_fill(struct tree_builder *b);
/* Groups the stacks of a pending node, with the sums of each group. */
enum err builder_group(struct tree_builder *b, const struct pending *p) MUST_CHECK;
/* Decides which groups become children; the others are summed up. Returns how many those are. */
uint32_t builder_judge(struct tree_builder *b);
/* Puts the stacks of kept groups side by side, in the order of the groups. */
void builder_move(struct tree_builder *b, const struct pending *p);

/*
 * Raises min_share so that the ceiling on nodes holds: counts them from the largest down and stops
 * where they are too many. What is as large as the first one too many goes with it.
 */
enum err builder_raise_threshold(struct tree_builder *b) MUST_CHECK;
