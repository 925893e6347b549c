/*
 * Private to src/store: the recent callees of each frame, the latest first, used by the stack
 * encoding of dictionaries to predict frames. Writer and reader have the same table.
 */
#pragma once

#include "base/alloc.h"
#include "base/err.h"
#include "base/str.h"

#define RECENT	     4
/* For fewer stacks the table is not worth its cost. */
#define CALLEES_FROM 64

struct callees {
	uint32_t (*v)[RECENT]; /* NULL: no prediction */
};

static inline enum err callees_init(struct callees *c, size_t frames, size_t stacks)
{
	c->v = NULL;
	if (stacks < CALLEES_FROM)
		return ERR_OK;
	c->v = mem_zalloc(frames, sizeof(*c->v));
	return c->v ? ERR_OK : ERR_NO_MEMORY;
}

static inline void callees_release(struct callees *c)
{
	mem_free(c->v);
	c->v = NULL;
}

static inline void callees_note(struct callees *c, uint32_t caller, uint32_t callee)
{
	uint32_t i = 0;

	if (!c->v)
		return;
	while (i < RECENT - 1 && c->v[caller][i] != callee)
		i++;
	memmove(c->v[caller] + 1, c->v[caller], i * sizeof(uint32_t));
	c->v[caller][0] = callee;
}

static inline uint64_t callees_code(const struct callees *c, uint32_t caller, uint32_t callee)
{
	for (uint32_t i = 0; c->v && i < RECENT; i++)
		if (c->v[caller][i] == callee)
			return i;
	return (uint64_t)callee + RECENT;
}

/* The frame for a code; UINT64_MAX if it is invalid. */
static inline uint64_t callees_frame(const struct callees *c, uint32_t caller, uint64_t code)
{
	if (code >= RECENT)
		return code - RECENT;
	return c->v ? c->v[caller][code] : UINT64_MAX;
}
