/* The call graph in GraphViz's format: one box per function, one arrow per pair. */
#pragma once

#include "model/model.h"

#define CALL_GRAPH_NODES 100

/* Of the first column; the largest `max_nodes` functions. */
enum err call_graph_dot(const struct tree *tree, size_t max_nodes, struct buf *out) MUST_CHECK;
