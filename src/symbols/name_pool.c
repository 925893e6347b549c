#include "symbols/name_pool.h"

#include "base/hash.h"

void name_pool_init(struct name_pool *p, size_t ceiling)
{
	*p = (struct name_pool){.seed = hash_random_seed()};
	arena_init(&p->arena, ceiling);
}

void name_pool_release(struct name_pool *p)
{
	arena_release(&p->arena);
	map_release(&p->map);
	vec_release(&p->names);
}

enum err name_pool_add(struct name_pool *p, struct str name, uint32_t *ret)
{
	uint64_t hash = hash_str(name, p->seed);
	char *copy;

	if (!name.n) {
		*ret = 0;
		return ERR_OK;
	}
	MAP_PROBE(&p->map, hash, id)
	{
		const char *known = p->names.v[id - 1];

		if (strncmp(known, name.p, name.n) == 0 && !known[name.n]) {
			*ret = id;
			return ERR_OK;
		}
	}
	if (p->arena.ceiling && p->arena.used + name.n + 32 > p->arena.ceiling)
		return ERR_TOO_LARGE;
	copy = arena_copy(&p->arena, name);
	if (!copy)
		return ERR_NO_MEMORY;
	TRY(vec_push(&p->names, copy));
	if (map_put(&p->map, hash, (uint32_t)p->names.n)) {
		p->names.n--;
		return ERR_NO_MEMORY;
	}
	*ret = (uint32_t)p->names.n;
	return ERR_OK;
}

const char *name_pool_get(const struct name_pool *p, uint32_t id)
{
	return id && id <= p->names.n ? p->names.v[id - 1] : "";
}

size_t name_pool_memory(const struct name_pool *p)
{
	return p->arena.used + p->names.cap * sizeof(*p->names.v) +
	       (p->map.slots ? ((size_t)p->map.mask + 1) * sizeof(*p->map.slots) : 0);
}
