/*
 * Private to src/model: the steps of building a call tree: finding its branches by grouping stacks
 * by their next frame (tree_groups.c), the threshold that keeps to a ceiling on nodes
 * (tree_limit.c), and writing the nodes that are kept (tree.c).
 */
#pragma once

#include "model/top.h"
#include "model/tree.h"
#include "model/values.h"

/* A distinct stack: the position of its outermost frame (its leaf if inverted) in the pool. */
struct item {
	uint32_t at, n, stack;
};

/*
 * A candidate node; which are kept is decided when all are known. One with a single stack is not
 * expanded: it represents the chain of nodes to the end of that stack.
 */
struct branch {
	double share;	     /* of all, the largest over the columns */
	double least;	     /* the smallest share of its children; 0: some were already left out */
	uint32_t key;	     /* of its frame; BRANCH_REST */
	uint32_t depth;	     /* frames from the root to here */
	uint32_t begin, end; /* its stacks; those that end here stand first … */
	uint32_t ended;	     /* … and are so many */
	uint32_t first, count; /* its children: branches behind each other */
};

/* The last child of a branch, when some of its children were too small to be found: their sum.
 * `count` says how many they are; its share is 0. */
#define BRANCH_REST UINT32_MAX

/* Stacks of one branch with one next frame. */
struct group {
	uint32_t key, count, at;
	bool kept;
	double share;
};

struct slot {
	uint32_t stamp, group;
};

/* A branch that is kept, and its node. */
struct pending {
	uint32_t branch, node;
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
	uint32_t *group_of; /* per item, while it is moved */
	size_t item_count;
	struct slot *slots; /* per key */
	uint32_t stamp;
	VEC(struct group) groups;
	VEC(int64_t) group_sums; /* per group: values, then magnitudes, of each column */

	VEC(struct branch) branches; /* one level of the tree after the other */
	VEC(int64_t) branch_sums;    /* like group_sums */
	size_t expanded;	     /* branches whose children are known or not needed */

	VEC(struct pending) pending;
	VEC(uint32_t) kept; /* children of the current branch that are kept */
	VEC(struct tree_node) nodes;
	VEC(int64_t) self; /* [node * columns + column] */
	uint32_t pruned_nodes;
	double *pruned; /* magnitude per column */
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

/* Values and magnitudes of a branch. */
static inline const int64_t *builder_sums(const struct tree_builder *b, size_t branch)
{
	return b->branch_sums.v + branch * b->sums->columns * 2;
}

static inline bool branch_is_chain(const struct branch *branch)
{
	return branch->end - branch->begin == 1 && branch->depth;
}

/* Finds all branches that are not below the threshold, which rises if there are too many: at most a
 * few times the ceiling on nodes are stored. */
enum err builder_find_branches(struct tree_builder *b) MUST_CHECK;

/*
 * Raises min_share so that the branches found so far, with the pruned nodes, fit the ceiling on
 * nodes. Branches as large as the first one above the ceiling are dropped, too.
 */
enum err builder_raise_threshold(struct tree_builder *b) MUST_CHECK;
