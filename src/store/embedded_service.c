/* The services of a day. */
#include <stdlib.h>

#include "store/embedded.h"

enum err day_service_get(struct day *d, struct str name, struct day_service **ret)
{
	struct embedded *e = d->engine;
	uint64_t hash = hash_str(name, e->base.seed);
	struct day_service *ds = NULL;
	enum err error = ERR_OK;

	mutex_lock(&e->lock);
	MAP_PROBE(&d->service_index, hash, i)
	{
		if (str_eq(str_of(d->services.v[i]->name), name))
			ds = d->services.v[i];
	}
	if (!ds) {
		ds = mem_zalloc(1, sizeof(*ds));
		error = ds && (ds->name = mem_strndup(name.p, name.n)) ? ERR_OK : ERR_NO_MEMORY;
		if (error == ERR_OK)
			error = vec_reserve(&d->services, 1);
		if (error == ERR_OK)
			error = map_put(&d->service_index, hash, (uint32_t)d->services.n);
		if (error == ERR_OK) {
			ds->day = d;
			d->services.v[d->services.n++] = ds;
		} else if (ds) {
			mem_free(ds->name);
			mem_free(ds);
		}
	}
	mutex_unlock(&e->lock);
	if (error == ERR_OK)
		*ret = ds;
	return error;
}

struct day_service *day_service_at(struct day *d, size_t i)
{
	struct day_service *ds;

	mutex_lock(&d->engine->lock);
	ds = i < d->services.n ? d->services.v[i] : NULL;
	mutex_unlock(&d->engine->lock);
	return ds;
}

struct day_service *day_service_by_id(struct day *d, uint32_t id)
{
	struct day_service *found = NULL;

	mutex_lock(&d->engine->lock);
	/* Ids are given in order, so the place is close to the id. */
	if (id && id <= d->services.n && atomic_load(&d->services.v[id - 1]->id) == id)
		found = d->services.v[id - 1];
	for (size_t i = 0; !found && i < d->services.n; i++)
		if (atomic_load(&d->services.v[i]->id) == id)
			found = d->services.v[i];
	mutex_unlock(&d->engine->lock);
	return found;
}

static int by_key(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/* `keys` are sorted. */
void day_service_remove_fresh(struct day_service *ds, const int64_t *keys, size_t n)
{
	size_t kept = 0;

	mutex_lock(&ds->day->engine->lock);
	vec_for_each (chunk, &ds->fresh)
		if (!bsearch(&chunk->key, keys, n, sizeof(*keys), by_key))
			ds->fresh.v[kept++] = *chunk;
	ds->fresh.n = kept;
	mutex_unlock(&ds->day->engine->lock);
}
