/* Who calls whom, as GraphViz draws it: one box per function, one arrow per pair. */
#pragma once

#include "model/model.h"

#define CALL_GRAPH_NODES 100

/* The first column; at most `max_nodes` functions, the largest. */
enum err call_graph_dot(const struct tree *tree, size_t max_nodes, struct buf *out) MUST_CHECK;
