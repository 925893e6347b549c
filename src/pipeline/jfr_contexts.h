/*
 * The labels that Pyroscope's Java agent sends next to a recording, which contains only their
 * numbers.
 *
 *	LabelsSnapshot  1 contexts: map<int64, Context>, 2 strings: map<int64, string>
 *	Context         1 labels: map<int64, int64>, name to value, both ids of strings
 *
 * Strings are slices of the bytes, which must outlive it. All zero is a valid empty one.
 */
#pragma once

#include "model/model.h"

struct jfr_context {
	uint32_t at, n; /* in pairs */
};

struct jfr_contexts {
	uint64_t seed;
	VEC(struct str) strings;
	struct map string_index;
	VEC(struct jfr_context) contexts;
	struct map context_index;
	VEC(struct label_pair) pairs;
};

enum err jfr_contexts_read(struct jfr_contexts *c, struct str bytes, uint64_t seed,
			   struct fault *fault) MUST_CHECK;
void jfr_contexts_release(struct jfr_contexts *c);
/* The pairs of a context; none if it is unknown. */
void jfr_contexts_find(const struct jfr_contexts *c, int64_t id, uint32_t *ret_at, uint32_t *ret_n);
/* The string with an id, or an empty one. */
struct str jfr_contexts_string(const struct jfr_contexts *c, int64_t id);
