#include "base/map.h"

#include <string.h>

#include "base/alloc.h"

#define MAP_MAX_SLOTS (1u << 31)

void map_release(struct map *m)
{
	if (!m)
		return;
	mem_free(m->slots);
	*m = (struct map){0};
}

void map_clear(struct map *m)
{
	if (m->slots)
		memset(m->slots, 0, ((size_t)m->mask + 1) * sizeof(*m->slots));
	m->n = 0;
}

static void place(struct map *m, uint64_t hash, uint32_t id)
{
	uint32_t i = (uint32_t)hash & m->mask;

	while (m->slots[i].used)
		i = (i + 1) & m->mask;
	m->slots[i] = (struct map_slot){hash, id, 1};
}

static enum err resize(struct map *m, uint32_t slots)
{
	struct map old = *m;
	struct map_slot *fresh = mem_zalloc(slots, sizeof(*fresh));

	if (!fresh)
		return ERR_NO_MEMORY;
	m->slots = fresh;
	m->mask = slots - 1;
	for (uint32_t i = 0; old.slots && i <= old.mask; i++)
		if (old.slots[i].used)
			place(m, old.slots[i].hash, old.slots[i].id);
	mem_free(old.slots);
	return ERR_OK;
}

/* At most 5/8 of the slots are in use: probes stay short, and a table of 2^k ids fits 2^(k+1). */
static uint32_t slots_for(uint32_t count)
{
	uint32_t slots = 16;

	while (slots < MAP_MAX_SLOTS && (uint64_t)slots * 5 / 8 < count)
		slots *= 2;
	return slots;
}

enum err map_reserve(struct map *m, uint32_t count)
{
	uint32_t slots = slots_for(count);

	if ((uint64_t)slots * 5 / 8 < count)
		return ERR_TABLE_FULL;
	if (m->slots && slots <= m->mask + 1)
		return ERR_OK;
	return resize(m, slots);
}

enum err map_put(struct map *m, uint64_t hash, uint32_t id)
{
	if (m->n == UINT32_MAX)
		return ERR_TABLE_FULL;
	if (!m->slots || m->n >= (uint32_t)(((uint64_t)m->mask + 1) * 5 / 8))
		TRY(map_reserve(m, m->n + 1));
	place(m, hash, id);
	m->n++;
	return ERR_OK;
}
