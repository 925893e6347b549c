/* Replaces frames in stacks, one by several for inlined functions. */
#pragma once

#include "model/model.h"

struct replacement {
	uint32_t at, n; /* in the pool */
};

struct late_stacks {
	struct profile *profile;
	uint32_t *instead; /* by frame: index of its replacement + 1; other frames are unchanged */
	uint32_t frames;   /* number of entries */
	VEC(struct replacement) replacements;
	VEC(uint32_t) pool, scratch;
};

enum err late_stacks_init(struct late_stacks *s, struct profile *p) MUST_CHECK;
void late_stacks_release(struct late_stacks *s);
/* `ids` innermost first. */
enum err late_stacks_replace(struct late_stacks *s, uint32_t frame, const uint32_t *ids,
			     size_t n) MUST_CHECK;
/* Replaces the stacks of the profile's rows. */
enum err late_stacks_apply(struct late_stacks *s) MUST_CHECK;
