/*
 * Stacks as formats with a call tree give them: a node is a frame below a parent node, and values
 * belong to nodes. Nodes become stacks only when they carry a value, each once.
 *
 * A tree of n nodes may stand for n * depth frames, so a small file could ask for a huge
 * dictionary: depth and the number of frames of all stacks are bounded by the reader's limits.
 *
 * Node 0 is the root, the empty stack. Its parent is itself.
 */
#pragma once

#include "format/format.h"

#define NODE_VALUES 3

struct stack_node {
	uint32_t parent;
	uint32_t frame; /* in the dictionary; 0 = the node adds no frame */
	bool used;	/* a value was added, even if it was 0 */
	int64_t values[NODE_VALUES];
};

struct stack_nodes {
	VEC(struct stack_node) list;
	struct map children; /* of nodes made by stack_nodes_child */
	VEC(uint32_t) path;
	uint64_t frames; /* of all stacks made so far */
	uint64_t seed;
};

/* The seed is the dictionary's. */
enum err stack_nodes_init(struct stack_nodes *n, uint64_t seed) MUST_CHECK;
void stack_nodes_release(struct stack_nodes *n);

/* A new node. The parent may be a node that comes later (then call stack_nodes_check). */
enum err stack_nodes_add(struct stack_nodes *n, uint32_t parent, uint32_t frame,
			 uint32_t *ret) MUST_CHECK;
/* The node for a frame below a parent: the one there is, or a new one. */
enum err stack_nodes_child(struct stack_nodes *n, uint32_t parent, uint32_t frame,
			   uint32_t *ret) MUST_CHECK;
/* Adds to a value of a node, saturating. */
void stack_nodes_count(struct stack_nodes *n, uint32_t node, unsigned value, int64_t amount);
/* ERR_CORRUPT with a node of the cycle when parents lead round in circles. */
enum err stack_nodes_check(const struct stack_nodes *n, uint32_t *ret_node) MUST_CHECK;
/* The stack of a node. Fails with out->fault filled when a limit is passed. */
enum err stack_nodes_stack(struct stack_nodes *n, uint32_t node, struct reading *out,
			   uint32_t *ret) MUST_CHECK;
/* A row per node that was counted: values[0 … type_count-1] of the node. */
enum err stack_nodes_rows(struct stack_nodes *n, struct profile *p, uint32_t labels,
			  struct reading *out) MUST_CHECK;
