/* Stacks in which frames are replaced by others, one by several where functions were inlined. */
#pragma once

#include "model/model.h"

struct replacement {
	uint32_t at, n; /* in the pool */
};

struct late_stacks {
	struct profile *profile;
	uint32_t *instead; /* by frame: number of its replacement + 1; frames as they were */
	uint32_t frames;   /* how many that are */
	VEC(struct replacement) replacements;
	VEC(uint32_t) pool, scratch;
};

enum err late_stacks_init(struct late_stacks *s, struct profile *p) MUST_CHECK;
void late_stacks_release(struct late_stacks *s);
/* `ids` innermost first. */
enum err late_stacks_replace(struct late_stacks *s, uint32_t frame, const uint32_t *ids,
			     size_t n) MUST_CHECK;
/* Gives the rows of the profile their new stacks. */
enum err late_stacks_apply(struct late_stacks *s) MUST_CHECK;
