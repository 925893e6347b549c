/* The services of a day. */
#include <stdlib.h>

#include "store/embedded.h"

enum err day_service_get(struct day *d, struct str name, struct day_service **ret)
{
	struct embedded *e = d->engine;
	uint64_t hash = hash_str(name, e->base.seed);
	struct day_service *ds = NULL;
	enum err error = ERR_OK;

	engine_lock(e);
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
			service_changed(ds);
			d->services.v[d->services.n++] = ds;
		} else if (ds) {
			mem_free(ds->name);
			mem_free(ds);
		}
	}
	engine_unlock(e);
	if (error == ERR_OK)
		*ret = ds;
	return error;
}

struct day_service *day_service_find(struct day *d, struct str name)
{
	struct day_service *found = NULL;

	engine_lock(d->engine);
	MAP_PROBE(&d->service_index, hash_str(name, d->engine->base.seed), i)
	{
		if (str_eq(str_of(d->services.v[i]->name), name))
			found = d->services.v[i];
	}
	engine_unlock(d->engine);
	return found;
}

struct day_service *day_service_at(struct day *d, size_t i)
{
	struct day_service *ds;

	engine_lock(d->engine);
	ds = i < d->services.n ? d->services.v[i] : NULL;
	engine_unlock(d->engine);
	return ds;
}

size_t day_services_from(struct day *d, size_t i, struct day_service **ret, size_t n)
{
	size_t count = 0;

	engine_lock(d->engine);
	for (; count < n && i + count < d->services.n; count++) {
		engine_step(d->engine);
		ret[count] = d->services.v[i + count];
	}
	engine_unlock(d->engine);
	return count;
}

static uint64_t id_hash(uint32_t id)
{
	return hash_mix(id, 1);
}

enum err day_service_expect_id(struct day_service *ds, uint32_t id)
{
	struct day *d = ds->day;
	uint64_t name = hash_str(str_of(ds->name), d->engine->base.seed);
	enum err error = ERR_OK;

	engine_lock(d->engine);
	MAP_PROBE(&d->service_index, name, i)
	{
		if (d->services.v[i] == ds)
			error = map_put(&d->id_index, id_hash(id), i);
	}
	engine_unlock(d->engine);
	return error;
}

struct day_service *day_service_by_id(struct day *d, uint32_t id)
{
	struct day_service *found = NULL;

	engine_lock(d->engine);
	MAP_PROBE(&d->id_index, id_hash(id), i)
	{
		if (id && atomic_load(&d->services.v[i]->id) == id)
			found = d->services.v[i];
	}
	engine_unlock(d->engine);
	return found;
}

/* ------------------------------------------------------------------ fresh chunks */

static uint32_t *window_count(struct day *d, int64_t time_ns)
{
	int64_t begin = d->name.day * NS_PER_DAY, last = begin + NS_PER_DAY - 1;

	/* One of another day can only be damage. */
	time_ns = time_ns < begin ? begin : time_ns > last ? last : time_ns;
	return &d->fresh_windows[(time_ns - begin) / WINDOW_NS];
}

static void count_fresh(struct day *d, const struct fresh_chunk *chunk)
{
	int64_t time = row_time_ns(chunk->key);

	if (!d->fresh_chunks || time < d->fresh_oldest_ns)
		d->fresh_oldest_ns = time;
	if (!d->fresh_chunks || time > d->fresh_newest_ns)
		d->fresh_newest_ns = time;
	d->fresh_chunks++;
	d->fresh_rows += chunk->rows;
	d->fresh_changes++;
	++*window_count(d, time);
	atomic_fetch_add(&d->engine->fresh_chunks, 1);
}

static void discount_fresh(struct day *d, const struct fresh_chunk *chunk)
{
	int64_t time = row_time_ns(chunk->key);

	d->fresh_chunks--;
	d->fresh_rows -= chunk->rows;
	d->fresh_changes++;
	d->fresh_unsure |= time == d->fresh_oldest_ns || time == d->fresh_newest_ns;
	if (!d->fresh_chunks)
		d->fresh_unsure = false;
	--*window_count(d, time);
	atomic_fetch_sub(&d->engine->fresh_chunks, 1);
}

void day_service_add_fresh(struct day_service *ds, struct fresh_chunk chunk)
{
	ds->fresh.v[ds->fresh.n++] = chunk;
	count_fresh(ds->day, &chunk);
}

void day_service_clear_fresh(struct day_service *ds)
{
	vec_for_each (chunk, &ds->fresh)
		discount_fresh(ds->day, chunk);
	ds->fresh.n = 0;
	service_changed(ds);
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

	mutex_lock(&ds->day->lists);
	vec_for_each (chunk, &ds->fresh) {
		if (bsearch(&chunk->key, keys, n, sizeof(*keys), by_key))
			discount_fresh(ds->day, chunk);
		else
			ds->fresh.v[kept++] = *chunk;
	}
	if (kept < ds->fresh.n)
		service_changed(ds);
	ds->fresh.n = kept;
	mutex_unlock(&ds->day->lists);
}

/* Goes through the chunks, since the oldest or the newest became part of a block. */
static void look_for_bounds(struct day *d, int64_t *ret_oldest_ns, int64_t *ret_newest_ns)
{
	int64_t oldest = INT64_MAX, newest = INT64_MIN;
	struct day_service *ds;
	uint64_t changes;

	mutex_lock(&d->lists);
	changes = d->fresh_changes;
	mutex_unlock(&d->lists);
	for (size_t i = 0; (ds = day_service_at(d, i)); i++) {
		mutex_lock(&d->lists);
		vec_for_each (chunk, &ds->fresh) {
			int64_t time = row_time_ns(chunk->key);

			oldest = time < oldest ? time : oldest;
			newest = time > newest ? time : newest;
		}
		mutex_unlock(&d->lists);
	}
	mutex_lock(&d->lists);
	if (changes == d->fresh_changes) {
		d->fresh_oldest_ns = oldest;
		d->fresh_newest_ns = newest;
		d->fresh_unsure = false;
	}
	mutex_unlock(&d->lists);
	*ret_oldest_ns = oldest;
	*ret_newest_ns = newest;
}

bool day_fresh_bounds(struct day *d, int64_t *ret_oldest_ns, int64_t *ret_newest_ns)
{
	bool any, unsure;

	mutex_lock(&d->lists);
	any = d->fresh_chunks > 0;
	unsure = d->fresh_unsure;
	*ret_oldest_ns = d->fresh_oldest_ns;
	*ret_newest_ns = d->fresh_newest_ns;
	mutex_unlock(&d->lists);
	if (any && unsure)
		look_for_bounds(d, ret_oldest_ns, ret_newest_ns);
	return any && *ret_oldest_ns <= *ret_newest_ns;
}

int64_t day_fresh_due(struct day *d)
{
	int64_t due = INT64_MAX;

	mutex_lock(&d->lists);
	for (int64_t w = 0; d->fresh_chunks && w < NS_PER_DAY / WINDOW_NS; w++)
		if (d->fresh_windows[w]) {
			due = d->name.day * NS_PER_DAY + (w + 1) * WINDOW_NS + WINDOW_LATE_NS;
			break;
		}
	mutex_unlock(&d->lists);
	return due;
}
