/*
 * Which functions of a table were inlined into their callers: everywhere, in some of them, or
 * never. The rule is pprof's: a pair of caller and callee counts as inlined if it is inlined in all
 * stacks with a value, and a function's state is that of its pairs as callee.
 */
#pragma once

#include "model/model.h"

enum inlining { NOT_INLINED = 1, INLINED = 2 };

struct inlines {
	struct frame_keys keys;
	uint8_t *seen; /* enum inlining, by key */
};

enum err inlines_build(struct inlines *in, const struct profile *p, uint32_t type,
		       bool lines) MUST_CHECK;
void inlines_release(struct inlines *in);
uint8_t inlines_of(const struct inlines *in, uint32_t frame);
