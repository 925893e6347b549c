/*
 * A call tree as levels of boxes, the format of Pyroscope's clients. Level 0 is the total. A box of
 * a single graph is four numbers (distance from the end of the box before it, total, self, name);
 * of a double graph seven (distance, total, self of the left; of the right; name). The numbers of
 * all levels are concatenated; level i is values[begin[i] … begin[i + 1] - 1].
 */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "model/model.h"

struct flamebearer {
	struct arena arena;
	struct str *names; /* names[0] is "total"; pruned nodes are "other" */
	size_t name_count;
	int64_t *values;
	size_t *begin;
	size_t levels;
	int64_t total, max_self;
	int64_t left_total, right_total; /* of a double graph */
};

/* `tree` has one column (single) or two (double). */
enum err flamebearer_build(const struct tree *tree, struct flamebearer *ret) MUST_CHECK;
void flamebearer_release(struct flamebearer *f);

/* The same tree in Pyroscope's tree format: preorder of (name length, name, self, child count) with
 * a nameless root; the first column. */
enum err flame_tree_bytes(const struct tree *tree, struct buf *out) MUST_CHECK;
