/*
 * Regular expressions over names: PCRE2, unanchored, with limits on time and memory. Threads may
 * share a compiled pattern.
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "base/str.h"

struct pattern;

enum pattern_flags {
	PATTERN_IGNORE_CASE = 1 << 0,
	PATTERN_ANCHORED = 1 << 1, /* the whole text must match */
	PATTERN_LITERAL = 1 << 2,
};

enum err pattern_new(struct str source, unsigned flags, struct pattern **ret,
		     struct fault *fault) MUST_CHECK;
void pattern_free(struct pattern *p);
/* Whether it matches; ERR_TOO_LARGE if a limit was reached first. */
enum err pattern_match(const struct pattern *p, struct str text, bool *ret) MUST_CHECK;
