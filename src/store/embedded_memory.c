/*
 * Memory of cached partitions and indexes: how much each tenant uses, and what is evicted when it
 * is too much. A tenant that loads much loses its own entries before others do.
 */
#include "store/embedded_index.h"

/* 1/SHARE of the ceiling: a tenant below this is not evicted while another one is above. */
#define SHARE 8

void tenant_charge(struct tenant *t, size_t *memory, size_t now)
{
	struct embedded *e = t->engine;

	atomic_fetch_add(&e->memory, now - *memory);
	t->memory += now - *memory;
	*memory = now;
	memory_hold_set(&t->charged, t->account, MEMORY_CACHED, t->memory);
	if (!e->largest || t->memory > e->largest->memory)
		e->largest = t;
}

void resident_rest(struct tenant *t, struct resident *r)
{
	lru_touch(&t->engine->unused, &r->node);
	lru_touch(&t->unused, &r->of_tenant);
}

void resident_take(struct resident *r)
{
	lru_remove(&r->node);
	lru_remove(&r->of_tenant);
}

/* ------------------------------------------------------------------ giving up */

/* The least recently used entry, unlinked; both NULL = everything is in use. */
struct coldest {
	struct partition *partition;
	struct day_index *index;
	size_t memory;
};

static struct resident *coldest_of(const struct tenant *t)
{
	struct lru_node *node = lru_oldest(&t->unused);

	return node ? lru_entry(node, struct resident, of_tenant) : NULL;
}

/* The oldest entry of the tenant that uses most, if above its share, else of all tenants. */
static struct resident *find_coldest(const struct embedded *e)
{
	const struct tenant *t = e->largest;
	struct resident *r = NULL;
	struct lru_node *node;

	if (t && t->memory > e->memory_ceiling / SHARE)
		r = coldest_of(t);
	if (r)
		return r;
	node = lru_oldest(&e->unused);
	return node ? lru_entry(node, struct resident, node) : NULL;
}

/* Requires engine->lock. */
static struct coldest take_out(struct resident *r)
{
	struct coldest found = {0};
	struct day_service *ds;

	if (r->is_index) {
		found.index = index_of_resident(r);
		found.memory = found.index->memory;
		index_detach(found.index);
		return found;
	}
	ds = lru_entry(r, struct day_service, unused);
	resident_take(r);
	found.partition = ds->partition;
	found.memory = ds->memory;
	ds->partition = NULL;
	partition_charge(ds, 0);
	return found;
}

static void free_coldest(const struct coldest *found)
{
	partition_free(found->partition);
	index_free(found->index);
}

void partitions_evict(struct embedded *e)
{
	struct resident *r;

	do {
		struct coldest found = {0};

		engine_lock(e);
		r = atomic_load(&e->memory) > e->memory_ceiling ? find_coldest(e) : NULL;
		if (r)
			found = take_out(r);
		engine_unlock(e);
		free_coldest(&found);
	} while (r);
}

size_t embedded_shrink(struct store *s, struct str tenant, size_t wanted)
{
	struct embedded *e = embedded_of(s);
	struct tenant *only = tenant.n ? tenant_known(e, tenant) : NULL;
	size_t freed = 0;
	struct resident *r = NULL;

	if (tenant.n && !only)
		return 0;
	do {
		struct coldest found = {0};

		engine_lock(e);
		r = only ? coldest_of(only) : find_coldest(e);
		if (r)
			found = take_out(r);
		engine_unlock(e);
		freed += found.memory;
		free_coldest(&found);
	} while (r && freed < wanted);
	return freed;
}
