/* Stacks that were cut or could not be walked, where the data says so by a frame in their place;
 * and frames without a name. */
#pragma once

#include "model/profile.h"

/*
 * What such a frame is called; its kind is STACK_MARK_KIND, which not every format can say. At the
 * root's end of a stack: its callers are missing.
 */
#define STACK_MARK_KIND	  "abort-marker"
#define STACK_MARK_CUT	  "[truncated]"
#define STACK_MARK_FAILED "[unwind_failed]"

struct stack_quality {
	double truncated, unnamed;	   /* share of the type's value in such stacks, 0 to 1 */
	uint64_t frames, unnamed_frames;   /* distinct ones in stacks that have a value */
	uint64_t truncated_stacks, stacks; /* distinct */
};

enum err profile_quality(const struct profile *p, uint32_t type,
			 struct stack_quality *ret) MUST_CHECK;
/* The share of truncated stacks alone. */
enum err profile_broken_share(const struct profile *p, uint32_t type, double *ret) MUST_CHECK;

/* The same looks at stacks one by one, for who adds up something else. */
enum stack_flaw { FLAW_TRUNCATED = 1, FLAW_UNNAMED = 2, FLAW_SEEN = 4 };
/* By stack of the dictionary; the caller frees it with mem_free. */
enum err stack_flaws(const struct dict *d, uint8_t **ret) MUST_CHECK;
