/* What `vestal status` and /metrics tell about a store. */
#include <stdlib.h>

#include "store/embedded.h"

struct name_list {
	VEC(struct str) v;
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

/* With engine->lock: what is known in memory. */
static void add_fresh(struct day *d, int64_t now_ns, bool own, struct store_stats *s,
		      unsigned *series)
{
	vec_for_each (service, &d->services) {
		struct day_service *ds = *service;

		s->fresh_chunks += ds->fresh.n;
		if (own) {
			s->dictionary_bytes += ds->memory;
			s->profiles += ds->fresh.n;
			*series += atomic_load(&ds->series);
		}
		vec_for_each (chunk, &ds->fresh) {
			int64_t time = row_time_ns(chunk->key);
			int64_t due = time - time % WINDOW_NS + WINDOW_NS + WINDOW_LATE_NS;

			if (now_ns - due > s->compaction_lag_ns)
				s->compaction_lag_ns = now_ns - due;
			if (!own)
				continue;
			s->rows += chunk->rows;
			widen(s, time, time);
		}
	}
}

static enum err add_names(struct day *d, struct name_list *names)
{
	enum err error = ERR_OK;

	vec_for_each (ds, &d->services)
		if (error == ERR_OK && atomic_load(&(*ds)->id))
			error = vec_push(&names->v, str_of((*ds)->name));
	return error;
}

static int by_text(const void *a, const void *b)
{
	return str_cmp(*(const struct str *)a, *(const struct str *)b);
}

static uint64_t count_distinct(struct name_list *names)
{
	uint64_t n = 0;

	if (names->v.n)
		qsort(names->v.v, names->v.n, sizeof(*names->v.v), by_text);
	for (size_t i = 0; i < names->v.n; i++)
		n += !i || !str_eq(names->v.v[i - 1], names->v.v[i]);
	return n;
}

static enum err add_day(struct day *d, bool own, int64_t now_ns, struct store_stats *s,
			struct name_list *names)
{
	struct store_stats counts = {0};
	unsigned series = 0;
	enum err error = ERR_OK;

	/* Of other tenants only what is in memory: nobody waits for their disks. */
	if (own) {
		TRY(day_look_into(d, NULL));
		TRY(count_file(d, &counts));
	}
	s->blocks += counts.blocks;
	s->rollups += counts.rollups;
	s->profiles += counts.profiles;
	s->rows += counts.rows;
	s->spans += counts.spans;
	widen(s, counts.oldest_ns, counts.newest_ns);
	mutex_lock(&d->engine->lock);
	add_fresh(d, now_ns, own, s, &series);
	if (own)
		error = add_names(d, names);
	mutex_unlock(&d->engine->lock);
	if (own)
		s->disk_bytes += db_disk_bytes(d->path);
	/* The same series on several days are the same series. */
	if (series > s->series)
		s->series = series;
	return error;
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
	struct name_list names = {0};
	struct day_list days = {0};
	struct tenant *t = NULL;
	enum err error = tenant_get(e, tenant, false, &t, NULL);

	if (error == ERR_NOT_FOUND)
		error = ERR_OK;
	TRY(error);
	TRY(days_all(e, &days, NULL));
	for (size_t i = 0; error == ERR_OK && i < days.v.n; i++)
		error = add_day(days.v.v[i], days.v.v[i]->tenant == t, store_now(store), &s,
				&names);
	s.services = count_distinct(&names);
	vec_release(&names.v);
	day_list_put(&days);
	s.commits = atomic_load(&e->commits);
	s.queued_batches = atomic_load(&e->queued);
	s.full = disk_guard_refuses(&e->disk);
	if (t)
		add_deleted(t, &s);
	else
		s.max_size = e->base.options.tenant_max_size;
	mutex_lock(&e->keeper_lock);
	s.upkeep = e->upkeep;
	mutex_unlock(&e->keeper_lock);
	if (error == ERR_OK)
		*ret = s;
	return error;
}
