/* Partitions: loaded from their day's file on demand, evicted when memory is short. */
#include "base/clock.h"
#include "base/work_scope.h"
#include "store/embedded_index.h"

static enum err load_rows(struct day_service *ds, struct db *reader, int64_t last_key,
			  struct partition *p, struct tally *found, struct fault *fault)
{
	uint64_t key = atomic_load(&ds->day->key);
	sqlite3_stmt *q;
	bool row;
	enum err error;

	TRY(db_query_with(reader, DICTIONARY_OF, &q, fault, dictionary_key(ds->id, 0), last_key));
	while ((error = db_step(reader, q, &row, fault)) == ERR_OK && row) {
		int64_t seal = sqlite3_column_int64(q, 2);
		struct str data = db_column(q, 1);

		tally_add(found, (uint64_t)seal);
		error = day_seal_good(ds->day, reader, seal,
				      seal_dictionary(key, sqlite3_column_int64(q, 0), data))
				? partition_delta_apply(p, data)
				: ERR_DAMAGED;
		if (error != ERR_OK)
			break;
	}
	db_reset(q);
	return error;
}

/* When all rows are loaded, the next sequence number is known, too. */
static enum err load_all(struct day_service *ds, struct db *reader, int64_t last_key,
			 struct partition *p, struct fault *fault)
{
	bool whole = last_key == dictionary_key(ds->id, UINT32_MAX), own = !reader->in_transaction;
	struct tally tallies[SERVICE_TALLIES], found = {0};
	enum err error = ERR_OK;

	whole &= reader->version >= DAY_SEALED_VERSION;
	if (own)
		TRY(db_begin(reader, false, fault));
	if (whole)
		error = service_tallies(ds, reader, tallies, fault);
	if (error == ERR_OK)
		error = load_rows(ds, reader, last_key, p, &found, fault);
	if (error == ERR_OK && whole && !tally_equal(&found, &tallies[TALLY_DICTIONARY]))
		error = ERR_DAMAGED;
	if (own)
		db_rollback(reader);
	return day_damaged(ds->day, error, "the dictionary", ds->name, fault);
}

enum err service_load(struct day_service *ds, struct db *reader, int64_t last_key,
		      struct partition **ret, struct fault *fault)
{
	struct day *d = ds->day;
	struct partition *p = NULL;
	enum err error = partition_new(str_of(d->tenant->name), str_of(ds->name), d->name.day,
				       d->engine->base.seed, NULL, &p);

	if (error == ERR_OK && reader && ds->id)
		error = load_all(ds, reader, last_key, p, fault);
	if (error != ERR_OK) {
		partition_free(p);
		return error;
	}
	p->persisted = p->prepared = partition_mark(p);
	p->engine = ds;
	*ret = p;
	return ERR_OK;
}

/* ------------------------------------------------------------------ memory */

void partition_charge(struct day_service *ds, size_t memory)
{
	ds->day->partition_bytes += memory - ds->memory;
	tenant_charge(ds->day->tenant, &ds->memory, memory);
}

/* With engine->lock. */
static void hold(struct day_service *ds, struct partition *p)
{
	atomic_fetch_add(&p->references, 1);
	resident_take(&ds->unused);
	ds->day->references++;
	ds->day->used_ns = clock_monotonic_ns();
}

struct partition *service_loaded(struct day_service *ds)
{
	struct partition *p;

	engine_lock(ds->day->engine);
	p = ds->partition;
	if (p)
		hold(ds, p);
	engine_unlock(ds->day->engine);
	return p;
}

enum err service_partition(struct day_service *ds, struct partition **ret, struct fault *fault)
{
	struct day *d = ds->day;
	struct embedded *e = d->engine;
	struct db *reader = NULL;
	struct partition *p = service_loaded(ds);
	struct work_scope *scope;
	enum err error = ERR_OK;

	if (p) {
		*ret = p;
		return ERR_OK;
	}
	/* Loaded partitions are shared, so they are not charged to the query or upload. */
	scope = work_scope_leave();
	mutex_lock(&d->loading);
	p = service_loaded(ds);
	if (!p) {
		if (ds->id)
			error = day_reader(d, &reader, fault);
		if (error == ERR_OK)
			error = service_load(ds, reader, dictionary_key(ds->id, UINT32_MAX), &p,
					     fault);
		day_reader_back(d, reader, error);
		if (error == ERR_OK) {
			engine_lock(e);
			ds->partition = p;
			partition_charge(ds, partition_memory(p));
			/* Series of the file were counted when the day was looked into. */
			p->quota = &d->quota;
			hold(ds, p);
			engine_unlock(e);
		}
	}
	mutex_unlock(&d->loading);
	work_scope_return(scope);
	if (error == ERR_OK)
		*ret = p;
	return error;
}

void partition_give_back(struct embedded *e, struct partition *p)
{
	struct day_service *ds = p->engine;
	struct day *d = ds->day;
	bool last, stale, over;

	engine_lock(e);
	last = atomic_fetch_sub(&p->references, 1) == 1;
	stale = last && ds->partition != p;
	if (last && !stale) {
		/* It is not shared, so its lock is not needed. */
		partition_charge(ds, partition_memory(p));
		resident_rest(d->tenant, &ds->unused);
	}
	over = atomic_load(&e->memory) > e->memory_ceiling;
	engine_unlock(e);
	if (stale)
		partition_free(p);
	day_put(d);
	if (over)
		partitions_evict(e);
}

void service_close(struct day_service *ds)
{
	struct embedded *e = ds->day->engine;

	engine_lock(e);
	ds->closing = true;
	while (ds->questions)
		cond_wait(&e->changed, &e->lock);
	engine_unlock(e);
}

void service_reopen(struct day_service *ds)
{
	struct embedded *e = ds->day->engine;

	engine_lock(e);
	ds->closing = false;
	cond_broadcast(&e->changed);
	engine_unlock(e);
}

void service_replace(struct day_service *ds, struct partition *fresh)
{
	struct embedded *e = ds->day->engine;
	struct partition *old;
	bool unused;

	engine_lock(e);
	old = ds->partition;
	unused = old && !atomic_load(&old->references);
	ds->partition = fresh;
	resident_take(&ds->unused);
	partition_charge(ds, fresh ? partition_memory(fresh) : 0);
	if (fresh) {
		fresh->engine = ds;
		fresh->quota = &ds->day->quota;
		resident_rest(ds->day->tenant, &ds->unused);
	}
	engine_unlock(e);
	if (unused)
		partition_free(old);
	/* Its data about the service is outdated. */
	index_forget(ds->day);
}
