/* Statistics of a store, for `vestal status` and /metrics. */
#include <stdlib.h>

#include "store/embedded.h"

/* A service of a day. */
struct named {
	struct str name;
	uint64_t series;
};

struct name_list {
	VEC(struct named) v;
};

/* Blocks, roll-ups and spans of a file; kept until it changes. */
static enum err count_file(struct day *d, struct store_stats *ret)
{
	struct store_stats counts = {0};
	struct db *reader;
	sqlite3_stmt *q;
	bool row;
	enum err error;

	if (!atomic_load(&d->exists) || atomic_exchange(&d->counted, true)) {
		*ret = d->counts;
		return ERR_OK;
	}
	TRY(day_reader(d, &reader, NULL));
	error = db_statement(reader, d->name.kind == DAY_SPANS ? SPAN_COUNT : BLOCK_COUNT, &q,
			     NULL);
	if (error == ERR_OK && (error = db_step(reader, q, &row, NULL)) == ERR_OK) {
		if (d->name.kind == DAY_SPANS) {
			counts.spans = (uint64_t)sqlite3_column_int64(q, 0);
		} else {
			counts.blocks = (uint64_t)sqlite3_column_int64(q, 0);
			counts.profiles = (uint64_t)sqlite3_column_int64(q, 1);
			counts.rows = (uint64_t)sqlite3_column_int64(q, 2);
			counts.oldest_ns = sqlite3_column_int64(q, 3);
			counts.newest_ns = sqlite3_column_int64(q, 4);
		}
		db_reset(q);
	}
	if (error == ERR_OK && d->name.kind == DAY_PROFILES &&
	    (error = db_statement(reader, ROLLUP_COUNT, &q, NULL)) == ERR_OK &&
	    (error = db_step(reader, q, &row, NULL)) == ERR_OK) {
		counts.rollups = (uint64_t)sqlite3_column_int64(q, 0);
		db_reset(q);
	}
	day_reader_back(d, reader, error);
	if (error == ERR_OK)
		*ret = d->counts = counts;
	else
		atomic_store(&d->counted, false);
	return error;
}

static void widen(struct store_stats *s, int64_t oldest, int64_t newest)
{
	if (oldest && (!s->oldest_ns || oldest < s->oldest_ns))
		s->oldest_ns = oldest;
	if (newest > s->newest_ns)
		s->newest_ns = newest;
}

/* Statistics that are in memory. */
static void add_fresh(struct day *d, struct store_stats *s)
{
	int64_t oldest, newest;

	engine_lock(d->engine);
	s->dictionary_bytes += d->partition_bytes;
	engine_unlock(d->engine);
	mutex_lock(&d->lists);
	s->profiles += d->fresh_chunks;
	s->rows += d->fresh_rows;
	mutex_unlock(&d->lists);
	if (day_fresh_bounds(d, &oldest, &newest))
		widen(s, oldest, newest);
}

static enum err add_names(struct day *d, struct name_list *names)
{
	struct day_service *ds;

	for (size_t i = 0; (ds = day_service_at(d, i)); i++) {
		struct named one = {str_of(ds->name), atomic_load(&ds->series)};

		if (atomic_load(&ds->id))
			TRY(vec_push(&names->v, one));
	}
	return ERR_OK;
}

/* The day with most series of a service first. */
static int by_name(const void *left, const void *right)
{
	const struct named *a = left, *b = right;
	int order = str_cmp(a->name, b->name);

	return order ? order : (a->series < b->series) - (a->series > b->series);
}

static void count_names(struct name_list *names, struct store_stats *s)
{
	if (names->v.n)
		qsort(names->v.v, names->v.n, sizeof(*names->v.v), by_name);
	for (size_t i = 0; i < names->v.n; i++) {
		const struct named *one = &names->v.v[i];

		if (i && str_eq(one[-1].name, one->name))
			continue;
		s->services++;
		s->series += one->series;
	}
}

static enum err add_day(struct day *d, struct store_stats *s, struct name_list *names)
{
	struct store_stats counts = {0};
	int64_t due;

	TRY(day_look_into(d, NULL));
	TRY(count_file(d, &counts));
	s->blocks += counts.blocks;
	s->rollups += counts.rollups;
	s->profiles += counts.profiles;
	s->rows += counts.rows;
	s->spans += counts.spans;
	widen(s, counts.oldest_ns, counts.newest_ns);
	add_fresh(d, s);
	TRY(add_names(d, names));
	s->disk_bytes += db_disk_bytes(d->path);
	due = day_fresh_due(d);
	if (due != INT64_MAX && store_now(&d->engine->base) - due > s->compaction_lag_ns)
		s->compaction_lag_ns = store_now(&d->engine->base) - due;
	return ERR_OK;
}

/* Of the days of a tenant. */
static enum err add_tenant(struct tenant *t, struct store_stats *s)
{
	struct name_list names = {0};
	struct day_list days = {0};
	enum err error = days_of_tenant(t, &days);

	for (size_t i = 0; error == ERR_OK && i < days.v.n; i++)
		error = add_day(days.v.v[i], s, &names);
	count_names(&names, s);
	vec_release(&names.v);
	day_list_put(&days);
	return error;
}

/* For the whole store, without I/O and without loops over other tenants' data. */
static void add_store(struct embedded *e, struct store_stats *s)
{
	int64_t due = atomic_load(&e->fresh_due_ns);

	s->fresh_chunks = atomic_load(&e->fresh_chunks);
	if (due && due != INT64_MAX && store_now(&e->base) - due > s->compaction_lag_ns)
		s->compaction_lag_ns = store_now(&e->base) - due;
	s->commits = atomic_load(&e->commits);
	s->queued_batches = atomic_load(&e->queued);
	s->connections = atomic_load(&e->connections);
	s->lock_steps = atomic_load(&e->most_steps);
	s->full = disk_guard_refuses(&e->disk);
	mutex_lock(&e->keeper_lock);
	s->upkeep = e->upkeep;
	mutex_unlock(&e->keeper_lock);
}

static void add_deleted(struct tenant *t, struct store_stats *s)
{
	s->max_size = atomic_load(&t->limit);
	for (size_t i = 0; i < STORE_DELETED_WHYS_; i++) {
		s->deleted[i].times = atomic_load(&t->deleted[i].times);
		s->deleted[i].bytes = atomic_load(&t->deleted[i].bytes);
		s->deleted[i].count = atomic_load(&t->deleted[i].count);
	}
}

enum err embedded_stats(struct store *store, struct str tenant, struct store_stats *ret)
{
	struct embedded *e = embedded_of(store);
	struct store_stats s = {0};
	struct tenant *t = NULL;
	enum err error = tenant_get(e, tenant, false, &t, NULL);

	if (error == ERR_NOT_FOUND)
		error = ERR_OK;
	if (error == ERR_OK && t)
		error = add_tenant(t, &s);
	add_store(e, &s);
	if (t)
		add_deleted(t, &s);
	else
		s.max_size = e->base.options.tenant_max_size;
	if (error == ERR_OK)
		*ret = s;
	return error;
}
