#include "store/gauge_cells.h"

#include "base/hash.h"

void gauge_cells_release(struct gauge_cells *c)
{
	vec_release(&c->list);
	map_release(&c->index);
}

void gauge_cells_clear(struct gauge_cells *c)
{
	c->list.n = 0;
	map_clear(&c->index);
}

enum err gauge_cells_add(struct gauge_cells *c, struct question *q, uint32_t bucket, uint32_t stack,
			 __int128 value)
{
	struct gauge_cell fresh = {bucket, stack, value};
	uint64_t hash = hash_mix((uint64_t)bucket << 32 | stack, 1);

	MAP_PROBE(&c->index, hash, id)
	{
		struct gauge_cell *cell = &c->list.v[id];

		if (cell->bucket != bucket || cell->stack != stack)
			continue;
		cell->sum += value;
		return ERR_OK;
	}
	/* With what the index takes of it. */
	TRY(question_take(q, sizeof(fresh) + 2 * sizeof(uint64_t)));
	TRY(map_put(&c->index, hash, (uint32_t)c->list.n));
	return vec_push(&c->list, fresh);
}
