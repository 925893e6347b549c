/* Truncated and incompletely unwound stacks, marked by a special frame; and unsymbolized frames. */
#pragma once

#include "model/profile.h"

/*
 * Names of the marker frames. Their kind is STACK_MARK_KIND, which not every format can store. A
 * marker is at the root end of a stack, in place of the missing callers.
 */
#define STACK_MARK_KIND	  "abort-marker"
#define STACK_MARK_CUT	  "[truncated]"
#define STACK_MARK_FAILED "[unwind_failed]"

struct stack_quality {
	double truncated, unnamed;	   /* share of the type's value in such stacks, 0 to 1 */
	uint64_t frames, unnamed_frames;   /* distinct frames in stacks with a value */
	uint64_t truncated_stacks, stacks; /* distinct */
};

enum err profile_quality(const struct profile *p, uint32_t type,
			 struct stack_quality *ret) MUST_CHECK;
/* Only the share of truncated stacks. */
enum err profile_broken_share(const struct profile *p, uint32_t type, double *ret) MUST_CHECK;

/* The same classification per stack, for computing other sums. */
enum stack_flaw { FLAW_TRUNCATED = 1, FLAW_UNNAMED = 2, FLAW_SEEN = 4 };
/* One entry per stack of the dictionary; the caller frees it with mem_free. */
enum err stack_flaws(const struct dict *d, uint8_t **ret) MUST_CHECK;
