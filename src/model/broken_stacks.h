/* Stacks that were cut or could not be walked, where the data says so by a frame in their place. */
#pragma once

#include "model/profile.h"

/*
 * What such a frame is called; its kind is STACK_MARK_KIND, which not every format can say. At the
 * root's end of a stack: its callers are missing.
 */
#define STACK_MARK_KIND	  "abort-marker"
#define STACK_MARK_CUT	  "[truncated]"
#define STACK_MARK_FAILED "[unwind_failed]"

/* Their share of a type, 0 to 1. */
enum err profile_broken_share(const struct profile *p, uint32_t type, double *ret) MUST_CHECK;
