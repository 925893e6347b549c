/*
 * The call tree of a profile: a prefix tree over frames, root first, with ids in order.
 *
 * Node 0 is the root; a parent's id is always below its child's, so totals are one backward pass.
 * Nodes below a threshold are not built but summed into a `pruned` node of their parent, and
 * counted. Built top down from the distinct stacks, so that the cost depends on the nodes that are
 * kept.
 */
#pragma once

#include "model/profile.h"

enum tree_flags {
	TREE_LINES = 1 << 0,	/* frames differ by file and line, not only by function */
	TREE_INVERTED = 1 << 1, /* leaf first */
};

#define TREE_PRUNED UINT32_MAX /* `frame` of a pruned node */

struct tree_node {
	uint32_t parent;
	uint32_t frame; /* a representative frame id; 0 for the root */
	uint32_t depth;
	uint32_t dropped; /* for a pruned node: the number of children it replaces */
};

struct tree_options {
	unsigned flags;
	double min_share;   /* of the column's total; 0 = nothing pruned */
	uint32_t max_nodes; /* 0 = no ceiling; at least 2. min_share is raised until it holds */
};

struct tree {
	const struct dict *dict;
	uint32_t columns;
	VEC(struct tree_node) nodes;
	int64_t *self; /* [column * nodes.n + node] */
	int64_t *total;
	uint32_t pruned_nodes; /* number of pruned nodes */
	double pruned_share;   /* share of the value in pruned nodes, the largest of all columns */
};

/* One column per entry of `columns` (profile and type), all over one dictionary. */
struct tree_column {
	const struct profile *profile;
	uint32_t type;
};

/* Children of a node have consecutive ids, in order of their names; a pruned node is the last.
 * ERR_BAD_ARGUMENT if the columns do not share a dictionary. */
enum err tree_build(const struct tree_column *columns, uint32_t count,
		    const struct tree_options *options, struct tree *ret) MUST_CHECK;
void tree_release(struct tree *t);
