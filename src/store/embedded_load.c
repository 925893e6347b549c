/* Partitions: loaded from their day's file when somebody needs them, let go when memory is short.
 */
#include "base/clock.h"
#include "base/work_scope.h"
#include "store/embedded.h"

enum err service_load(struct day_service *ds, struct db *reader, int64_t last_key,
		      struct partition **ret, struct fault *fault)
{
	struct day *d = ds->day;
	struct partition *p = NULL;
	sqlite3_stmt *q;
	bool row = false;
	enum err error = partition_new(str_of(d->tenant->name), str_of(ds->name), d->name.day,
				       d->engine->base.seed, NULL, &p);

	if (error == ERR_OK && reader && ds->id) {
		error = db_query_with(reader, DICTIONARY_OF, &q, fault, dictionary_key(ds->id, 0),
				      last_key);
		while (error == ERR_OK && (error = db_step(reader, q, &row, fault)) == ERR_OK &&
		       row) {
			error = partition_delta_apply(p, db_column(q, 1));
			if (error == ERR_CORRUPT)
				fault_set(fault, ERR_CORRUPT,
					  "%s: the dictionary of %s is damaged: run vestal check",
					  d->path, ds->name);
			if (error != ERR_OK)
				db_reset(q);
		}
		if (error == ERR_OK)
			db_reset(q);
	}
	if (error != ERR_OK) {
		partition_free(p);
		return error;
	}
	p->persisted = partition_mark(p);
	p->engine = ds;
	*ret = p;
	return ERR_OK;
}

/* With engine->lock. */
static void hold(struct day_service *ds, struct partition *p)
{
	int64_t now = clock_monotonic_ns();

	atomic_fetch_add(&p->references, 1);
	ds->day->references++;
	ds->day->used_ns = now;
	ds->used_ns = now;
}

struct partition *service_loaded(struct day_service *ds)
{
	struct partition *p;

	mutex_lock(&ds->day->engine->lock);
	p = ds->partition;
	if (p)
		hold(ds, p);
	mutex_unlock(&ds->day->engine->lock);
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
	/* What is loaded is everybody's: no query or upload pays for it. */
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
			mutex_lock(&e->lock);
			ds->partition = p;
			ds->memory = partition_memory(p);
			atomic_fetch_add(&e->memory, ds->memory);
			/* Series of the file were counted when the day was looked into. */
			p->quota = &d->quota;
			hold(ds, p);
			mutex_unlock(&e->lock);
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

	mutex_lock(&e->lock);
	last = atomic_fetch_sub(&p->references, 1) == 1;
	stale = last && ds->partition != p;
	if (last && !stale) {
		/* Nobody else has it, so it may be looked at without its lock. */
		size_t memory = partition_memory(p);

		atomic_fetch_add(&e->memory, memory - ds->memory);
		ds->memory = memory;
	}
	over = atomic_load(&e->memory) > e->memory_ceiling;
	mutex_unlock(&e->lock);
	if (stale)
		partition_free(p);
	day_put(d);
	if (over)
		partitions_evict(e);
}

/* The one that was not used for the longest time, taken out of the tables; NULL = all are in use.
 */
static struct partition *take_coldest(struct embedded *e)
{
	struct day_service *coldest = NULL;
	struct partition *p = NULL;

	vec_for_each (t, &e->tenants)
		vec_for_each (d, &(*t)->days)
			vec_for_each (s, &(*d)->services) {
				struct day_service *ds = *s;

				if (ds->partition && !atomic_load(&ds->partition->references) &&
				    !ds->questions && (!coldest || ds->used_ns < coldest->used_ns))
					coldest = ds;
			}
	if (coldest) {
		p = coldest->partition;
		coldest->partition = NULL;
		atomic_fetch_sub(&e->memory, coldest->memory);
		coldest->memory = 0;
	}
	return p;
}

void partitions_evict(struct embedded *e)
{
	struct partition *p = NULL;

	do {
		mutex_lock(&e->lock);
		p = atomic_load(&e->memory) > e->memory_ceiling ? take_coldest(e) : NULL;
		mutex_unlock(&e->lock);
		partition_free(p);
	} while (p);
}

void service_close(struct day_service *ds)
{
	struct embedded *e = ds->day->engine;

	mutex_lock(&e->lock);
	ds->closing = true;
	while (ds->questions)
		cond_wait(&e->changed, &e->lock);
	mutex_unlock(&e->lock);
}

void service_reopen(struct day_service *ds)
{
	struct embedded *e = ds->day->engine;

	mutex_lock(&e->lock);
	ds->closing = false;
	cond_broadcast(&e->changed);
	mutex_unlock(&e->lock);
}

void service_replace(struct day_service *ds, struct partition *fresh)
{
	struct embedded *e = ds->day->engine;
	struct partition *old;
	bool unused;

	mutex_lock(&e->lock);
	old = ds->partition;
	unused = old && !atomic_load(&old->references);
	ds->partition = fresh;
	atomic_fetch_sub(&e->memory, ds->memory);
	ds->memory = 0;
	if (fresh) {
		fresh->engine = ds;
		fresh->quota = &ds->day->quota;
		ds->memory = partition_memory(fresh);
		atomic_fetch_add(&e->memory, ds->memory);
	}
	mutex_unlock(&e->lock);
	if (unused)
		partition_free(old);
}
