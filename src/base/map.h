/*
 * The one hash map: open addressing, linear probing, from a 64-bit content hash to a u32 id.
 *
 * The map does not hold keys: the id leads to the entry in the caller's own table, and the caller
 * compares keys if equal hashes are not proof enough:
 *
 *	MAP_PROBE(&map, hash, id) {
 *		if (strings[id] is the one I look for)
 *			return id;
 *	}
 *	map_put(&map, hash, new_id);
 *
 * Entries are never removed one by one. All zero is a valid empty map.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct map_slot {
	uint64_t hash;
	uint32_t id;
	uint32_t used;
};

struct map {
	struct map_slot *slots;
	uint32_t mask; /* slots - 1; slots is a power of two, or there are none */
	uint32_t n;
};

#define MAP_NONE UINT32_MAX

void map_release(struct map *m);
void map_clear(struct map *m);
/* Makes room for `count` entries in total. */
enum err map_reserve(struct map *m, uint32_t count) MUST_CHECK;
/* Adds an entry; several may share a hash. */
enum err map_put(struct map *m, uint64_t hash, uint32_t id) MUST_CHECK;

/* The id stored under a hash, or MAP_NONE: for callers that treat equal hashes as equal keys. */
static inline uint32_t map_get(const struct map *m, uint64_t hash)
{
	if (!m->slots)
		return MAP_NONE;
	for (uint32_t i = (uint32_t)hash & m->mask; m->slots[i].used; i = (i + 1) & m->mask)
		if (m->slots[i].hash == hash)
			return m->slots[i].id;
	return MAP_NONE;
}

static inline void map_prefetch(const struct map *m, uint64_t hash)
{
	if (m->slots)
		__builtin_prefetch(&m->slots[(uint32_t)hash & m->mask]);
}

/* Runs its body for every id stored under `hash`. */
#define MAP_PROBE(map_, hash_, id_)                                                                \
	for (uint32_t probe_ = (map_)->slots ? ((uint32_t)(hash_) & (map_)->mask) : 0, id_ = 0;    \
	     (map_)->slots && (map_)->slots[probe_].used && ((id_ = (map_)->slots[probe_].id), 1); \
	     probe_ = (probe_ + 1) & (map_)->mask)                                                 \
		if ((map_)->slots[probe_].hash == (hash_))
