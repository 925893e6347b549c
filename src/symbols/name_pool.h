/*
 * Interned strings; id 0 is "". They do not move until the pool is released.
 */
#pragma once

#include "base/arena.h"
#include "base/map.h"
#include "base/vec.h"

struct name_pool {
	struct arena arena;
	struct map map;
	uint64_t seed;		 /* names are untrusted */
	VEC(const char *) names; /* names.v[id - 1] */
};

void name_pool_init(struct name_pool *p, size_t ceiling);
void name_pool_release(struct name_pool *p);
/* ERR_TOO_LARGE if the ceiling is reached. */
enum err name_pool_add(struct name_pool *p, struct str name, uint32_t *ret) MUST_CHECK;
const char *name_pool_get(const struct name_pool *p, uint32_t id);
size_t name_pool_memory(const struct name_pool *p);
