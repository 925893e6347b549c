/*
 * What only Pyroscope's /ingest takes besides the formats of the table: each gives one profile with
 * one column, samples. Names of frames are kept to the letter, equal stacks become one row.
 *
 *	groups  "root;caller;leaf 12": the count is what follows the last blank; lines without one
 *		are skipped
 *	lines   "root;caller;leaf": one sample each
 *	tree    nodes in preorder, the first is the (nameless) root of all:
 *		varint length of the name, name, varint own value, varint number of children
 *	trie    the same nodes, but names are pieces of the text "root;caller;leaf": a node stands
 *		for all names from the root to it, joined
 */
#pragma once

#include "format/format.h"

enum err pyroscope_groups_read(struct str bytes, struct reading *out) MUST_CHECK;
enum err pyroscope_lines_read(struct str bytes, struct reading *out) MUST_CHECK;
enum err pyroscope_tree_read(struct str bytes, struct reading *out) MUST_CHECK;
enum err pyroscope_trie_read(struct str bytes, struct reading *out) MUST_CHECK;

/* Between pyroscope_text.c and pyroscope_tree.c: rows by stack. */
struct pyroscope_rows {
	struct reading *out;
	struct profile *profile;
	struct map index; /* by stack */
	uint64_t budget;  /* frames that may still be written out: a small file must not become a
			   * large model */
};

enum err pyroscope_rows_init(struct pyroscope_rows *r, struct reading *out,
			     struct str bytes) MUST_CHECK;
void pyroscope_rows_release(struct pyroscope_rows *r);
/* Frames leaf first. */
enum err pyroscope_rows_add(struct pyroscope_rows *r, const uint32_t *frames, size_t n,
			    uint64_t value) MUST_CHECK;
/* A frame that is only a name. */
enum err pyroscope_frame(struct reading *out, struct str name, uint32_t *ret) MUST_CHECK;
enum err pyroscope_rows_spend(struct pyroscope_rows *r, size_t n) MUST_CHECK;
