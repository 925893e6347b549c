/* The range of children of each node of a tree; children have consecutive ids. */
#pragma once

#include "model/model.h"

struct tree_children {
	uint32_t *first, *count; /* by node */
};

/* Released by the caller, also after an error. */
enum err tree_children_find(const struct tree *t, struct tree_children *ret) MUST_CHECK;
void tree_children_release(struct tree_children *c);
