#include "store/gauge_cells.h"

#include "base/hash.h"

void gauge_cells_release(struct gauge_cells *c)
{
	mem_free(c->first);
	vec_release(&c->list);
	map_release(&c->index);
}

void gauge_cells_clear(struct gauge_cells *c)
{
	if (c->first_n)
		memset(c->first, 0, c->first_n * sizeof(*c->first));
	c->list.n = 0;
	map_clear(&c->index);
}

enum err gauge_cells_reserve(struct gauge_cells *c, struct question *q, uint32_t n)
{
	size_t cap = c->first_n;

	if (n <= c->first_n)
		return ERR_OK;
	TRY(question_take(q, (n - c->first_n) * sizeof(*c->first)));
	TRY(mem_grow(&c->first, &cap, n, sizeof(*c->first), VEC_CEILING));
	memset(c->first + c->first_n, 0, (cap - c->first_n) * sizeof(*c->first));
	c->first_n = cap;
	return ERR_OK;
}

enum err gauge_cells_add(struct gauge_cells *c, struct question *q, uint32_t group, uint32_t stack,
			 __int128 value)
{
	struct gauge_cell fresh = {group, stack, value};
	uint64_t hash = hash_mix((uint64_t)group << 32 | stack, 1);

	if (!group) {
		TRY(gauge_cells_reserve(c, q, stack + 1));
		c->first[stack] += value;
		return ERR_OK;
	}
	MAP_PROBE(&c->index, hash, id)
	{
		struct gauge_cell *cell = &c->list.v[id];

		if (cell->group != group || cell->stack != stack)
			continue;
		cell->sum += value;
		return ERR_OK;
	}
	/* With what the index takes of it. */
	TRY(question_take(q, sizeof(fresh) + 2 * sizeof(uint64_t)));
	TRY(map_put(&c->index, hash, (uint32_t)c->list.n));
	return vec_push(&c->list, fresh);
}

void gauge_cells_sum(const struct gauge_cells *c, uint32_t group, __int128 *sums, size_t n)
{
	for (size_t i = 0; !group && i < n && i < c->first_n; i++)
		sums[i] += c->first[i];
	vec_for_each (cell, &c->list)
		if (cell->group == group)
			sums[cell->stack] += cell->sum;
}
