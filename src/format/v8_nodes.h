/*
 * The call tree of V8's profiles, which comes in three shapes: a flat array whose nodes list the
 * ids of their children, a flat array whose nodes name their parent, and a nested tree. All end
 * up as a table of nodes with a parent each.
 */
#pragma once

#include "format/json.h"
#include "format/stack_nodes.h"

struct v8_node {
	int64_t id;
	int64_t parent_id;
	size_t offset;		 /* in the file, for messages */
	uint32_t name, url;	 /* strings */
	int64_t line, column;	 /* of the function, from 1; 0 = not known */
	int64_t hits, self_size; /* samples that ended here; bytes allocated here */
	uint32_t parent;	 /* index + 1, 0 = none */
	bool has_id, has_parent_id;
};

struct v8_child {
	uint32_t parent; /* index + 1 */
	int64_t id;
	size_t offset;
};

struct v8_nodes {
	VEC(struct v8_node) list;
	VEC(struct v8_child) children; /* of the shape that lists them by id */
	VEC(uint32_t) open;	       /* nested shape: the nodes around the cursor */
	VEC(uint32_t) dense;	       /* id -> index + 1, when ids are small numbers … */
	struct map by_id;	       /* … else: hash of the id -> index */
	uint64_t seed;		       /* the dictionary's */
};

void v8_nodes_release(struct v8_nodes *n);
/* The value under "nodes", or under "head". On failure j->error is set. */
void v8_nodes_flat(struct v8_nodes *n, struct json *j, struct reading *out);
void v8_nodes_nested(struct v8_nodes *n, struct json *j, struct reading *out);
/* Finds parents, refuses doubled and missing ids and cycles, and fills `ret` so that node i of
 * the list is node i + 1 there. "(root)" adds no frame. */
enum err v8_nodes_link(struct v8_nodes *n, struct json *j, struct reading *out,
		       struct stack_nodes *ret) MUST_CHECK;
/* Index of the node with an id, or MAP_NONE. */
uint32_t v8_nodes_find(const struct v8_nodes *n, int64_t id);
