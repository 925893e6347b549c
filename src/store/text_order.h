/*
 * Private to src/store: sorts many texts. Eight bytes at a time are compared as a number, by radix
 * sort, and what all texts of a run have in common is skipped: names of pods and hosts begin alike.
 */
#pragma once

#include "base/err.h"
#include "base/str.h"

/* Texts by number. */
struct text_source {
	const void *context;
	struct str (*text)(const void *context, uint32_t id);
	/* Texts are sorted by this number first; NULL = by the text alone. */
	uint32_t (*group)(const void *context, uint32_t id);
};

/* Sorts ids by their text, in the order of str_cmp. */
enum err text_order(const struct text_source *from, uint32_t *ids, size_t n) MUST_CHECK;
