/*
 * The thread that keeps house: compaction, roll-ups, retention, memory, and trying again when the
 * disk was full. It wakes every few seconds, looks at lists in memory, and sleeps again.
 */
#include "base/clock.h"
#include "store/embedded.h"

#define ROUND_NS     (10 * NS_PER_S)
#define PROBE_NS     NS_PER_S
#define RETENTION_NS (30 * NS_PER_S)

/* Tenants that nobody has asked for since the start. */
struct found_tenants {
	struct embedded *engine;
	enum err error;
};

static void found_tenant(void *context, struct str name)
{
	struct found_tenants *f = context;
	struct tenant *t;
	enum err error = tenant_get(f->engine, name, false, &t, NULL);

	if (error != ERR_OK && f->error == ERR_OK)
		f->error = error;
}

static bool has_fresh(struct day *d)
{
	bool any = false;

	mutex_lock(&d->engine->lock);
	vec_for_each (ds, &d->services)
		any |= (*ds)->fresh.n > 0;
	mutex_unlock(&d->engine->lock);
	return any;
}

static enum err end_of_day(struct day *d, struct fault *fault)
{
	struct db *writer;
	enum err error;

	TRY(day_writer(d, &writer, fault));
	error = db_checkpoint(writer, fault);
	if (error == ERR_OK)
		error = catalog_record(d, fault);
	mutex_unlock(&d->write);
	return error;
}

static enum err keep_day(struct day *d, bool all, struct fault *fault)
{
	int64_t now = store_now(&d->engine->base);
	bool changed = false, over = (d->name.day + 1) * NS_PER_DAY + 3 * WINDOW_LATE_NS < now;
	enum err error;

	if (d->name.kind != DAY_PROFILES || !atomic_load(&d->exists) || d->gone ||
	    (atomic_load(&d->settled) && !all))
		return ERR_OK;
	TRY(day_look_into(d, fault));
	mutex_lock(&d->upkeep);
	/* First, so that what is written from here on unsettles the day again. */
	atomic_store(&d->settled, over);
	error = reach_measure(d, fault);
	if (error == ERR_OK)
		error = compact_day(d, all, &changed, fault);
	if (error == ERR_OK && (changed || all || over || d->rolled_hour != now / NS_PER_HOUR)) {
		error = rollup_day(d, all, fault);
		d->rolled_hour = now / NS_PER_HOUR;
	}
	if (error == ERR_OK && (changed || all))
		error = day_shrink(d, fault);
	if (error == ERR_OK && (over || all))
		error = end_of_day(d, fault);
	if (error != ERR_OK || has_fresh(d))
		atomic_store(&d->settled, false);
	else if (over)
		atomic_store(&d->settled, true);
	mutex_unlock(&d->upkeep);
	return error;
}

/* What a power cut may take of them is of the last seconds. */
static void sync_journals(struct embedded *e)
{
	size_t n;

	mutex_lock(&e->lock);
	n = e->tenants.n;
	mutex_unlock(&e->lock);
	for (size_t i = 0; i < n; i++) {
		struct tenant *t;

		mutex_lock(&e->lock);
		t = e->tenants.v[i];
		mutex_unlock(&e->lock);
		(void)!journal_sync(&t->journal, NULL);
	}
}

static enum err look_after_all(struct embedded *e, bool all, bool retain, struct fault *fault)
{
	struct found_tenants found = {.engine = e};
	struct day_list days = {0};
	enum err error = ERR_OK;

	mutex_lock(&e->round_lock);
	if (!e->tenants_found || all) {
		error = store_dir_tenants(e->dir.path, found_tenant, &found, fault);
		e->tenants_found = error == ERR_OK;
	}
	if (error == ERR_OK && retain)
		error = retention_run(e, fault);
	if (error == ERR_OK)
		error = days_all(e, &days, fault);
	for (size_t i = 0; i < days.v.n; i++) {
		/* One day's trouble does not keep the others from being looked after. */
		enum err one = keep_day(days.v.v[i], all, error == ERR_OK ? fault : NULL);

		if (error == ERR_OK)
			error = one;
		day_rest(days.v.v[i], clock_monotonic_ns());
	}
	day_list_put(&days);
	sync_journals(e);
	partitions_evict(e);
	mutex_unlock(&e->round_lock);
	return error;
}

/* For those who look at the statistics: the thread has nobody to tell. */
static void note_round(struct embedded *e, enum err error, const struct fault *fault)
{
	struct upkeep *u = &e->upkeep;

	mutex_lock(&e->keeper_lock);
	u->error = error;
	if (error != ERR_OK) {
		u->failures++;
		u->last_failure = *fault;
		if (!fault->text[0])
			(void)fault_set(&u->last_failure, error, "%s", err_text(error));
	}
	mutex_unlock(&e->keeper_lock);
}

enum err keeper_round(struct embedded *e, bool all, bool retain, struct fault *fault)
{
	struct fault own = {0};
	enum err error = look_after_all(e, all, retain, &own);

	note_round(e, error, &own);
	if (error != ERR_OK && fault)
		*fault = own;
	return error;
}

/* A full disk shows in the file system and in SQLite alike: only a write tells. */
static void probe(struct embedded *e)
{
	struct tenant *t;
	struct db *catalog;
	int64_t left;
	bool room = false;

	mutex_lock(&e->queue_lock);
	t = e->full_tenant;
	mutex_unlock(&e->queue_lock);
	if (!t || tenant_catalog(t, &catalog, NULL) != ERR_OK)
		return;
	if (db_run_numbers(catalog, PROBE_ADD, NULL, 0, NULL) == ERR_OK)
		room = db_run_numbers(catalog, PROBE_DELETE, NULL, 0, NULL) == ERR_OK &&
		       db_vacuum(catalog, 1000, &left, NULL) == ERR_OK;
	mutex_unlock(&t->catalog_lock);
	if (room)
		atomic_store(&e->full, false);
}

static void run(void *context)
{
	struct embedded *e = context;
	int64_t next_round = 0, next_retention = 0;

	mutex_lock(&e->keeper_lock);
	while (!e->keeper_stop) {
		int64_t now = clock_monotonic_ns();
		bool retain = now >= next_retention;

		mutex_unlock(&e->keeper_lock);
		if (atomic_load(&e->full))
			probe(e);
		if (now >= next_round) {
			/* What fails now is tried again in the next round, and noted. */
			(void)!keeper_round(e, false, retain, NULL);
			next_round = clock_monotonic_ns() + ROUND_NS;
			if (retain)
				next_retention = clock_monotonic_ns() + RETENTION_NS;
		}
		mutex_lock(&e->keeper_lock);
		if (!e->keeper_stop)
			cond_wait_until(&e->keeper_wake, &e->keeper_lock,
					clock_monotonic_ns() +
						(atomic_load(&e->full) ? PROBE_NS : ROUND_NS / 4));
	}
	mutex_unlock(&e->keeper_lock);
}

enum err keeper_start(struct embedded *e)
{
	return thread_start(&e->keeper, "store-keeper", run, e);
}

void keeper_stop(struct embedded *e)
{
	mutex_lock(&e->keeper_lock);
	e->keeper_stop = true;
	cond_broadcast(&e->keeper_wake);
	mutex_unlock(&e->keeper_lock);
	thread_join(&e->keeper);
}
