/*
 * The tree of an AutoFDO profile: functions, what is inlined in them and where, samples by line.
 * Private to the writer.
 */
#pragma once

#include "format/format.h"

#define FDO_NONE UINT32_MAX

/* A function, or an inlined call of one at a line of its parent. */
struct fdo_entry {
	uint32_t parent; /* node; FDO_NONE for functions */
	uint32_t offset; /* of the call in the parent */
	uint32_t name;	 /* string of the dictionary */
	int64_t total, head;
};

/* Samples at a line of a node, or calls from there. */
struct fdo_line {
	uint32_t node, offset;
	uint32_t callee; /* string; 0 = samples */
	int64_t count;
};

struct fdo {
	const struct dict *dict;
	VEC(struct fdo_entry) nodes; /* parents before children */
	struct map node_index;
	VEC(struct fdo_line) lines;
	struct map line_index;
	uint64_t used, left_out; /* frames */
	bool renamed;
};

void fdo_release(struct fdo *f);
enum err fdo_node(struct fdo *f, uint32_t parent, uint32_t offset, uint32_t name,
		  uint32_t *ret) MUST_CHECK;
enum err fdo_add_samples(struct fdo *f, uint32_t node, uint32_t offset, int64_t count) MUST_CHECK;
enum err fdo_add_call(struct fdo *f, uint32_t node, uint32_t offset, uint32_t callee,
		      int64_t count) MUST_CHECK;
enum err fdo_add_head(struct fdo *f, uint32_t name, int64_t count) MUST_CHECK;
/* Functions by total, the largest first, then by name; within one by line. Sorts the tree. */
enum err fdo_print(struct fdo *f, struct buf *out) MUST_CHECK;
