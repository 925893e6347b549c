/*
 * The upkeep thread: compaction, roll-ups, retention, memory, and retries after a full disk. It
 * wakes every few seconds and checks lists in memory.
 */
#include "base/clock.h"
#include "store/embedded_index.h"
#include "store/catalog.h"
#include "store/reach.h"
#include "store/upkeep.h"

#define ROUND_NS     (10 * NS_PER_S)
#define PROBE_NS     NS_PER_S
#define RETENTION_NS (30 * NS_PER_S)

/* Tenants that were not accessed since the start. */
struct found_tenants {
	struct embedded *engine;
	enum err error;
	struct fault *fault; /* of the first failure */
};

static void found_tenant(void *context, struct str name)
{
	struct found_tenants *f = context;
	struct tenant *t;
	enum err error =
		tenant_get(f->engine, name, false, &t, f->error == ERR_OK ? f->fault : NULL);

	if (error != ERR_OK && f->error == ERR_OK)
		f->error = error;
}

static bool has_fresh(struct day *d)
{
	return day_fresh_due(d) != INT64_MAX;
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

/* A wall clock that was put back must not let chunks pile up; what is merged too early is merged
 * again. */
int64_t upkeep_now(const struct embedded *e)
{
	int64_t low, high;

	trusted_clock_bounds(&e->base.clock, &low, &high);
	return high;
}

static enum err keep_day(struct day *d, bool all, struct fault *fault)
{
	int64_t now = upkeep_now(d->engine);
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
		error = index_catch_up(d, fault);
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

/* Limits what a power cut can lose to the last seconds. */
static void sync_journals(struct embedded *e)
{
	struct tenant *t;

	for (size_t i = 0; (t = tenant_at(e, i)); i++)
		(void)!journal_sync(&t->journal, NULL);
}

enum err tenants_find(struct embedded *e, struct fault *fault)
{
	struct found_tenants found = {.engine = e, .fault = fault};

	TRY(store_dir_tenants(e->dir.path, found_tenant, &found, fault));
	return found.error;
}

static enum err find_tenants(struct embedded *e, bool again, struct fault *fault)
{
	if (e->tenants_found && !again)
		return ERR_OK;
	TRY(tenants_find(e, fault));
	e->tenants_found = true;
	return ERR_OK;
}

/* One day's trouble does not keep the others from being looked after. */
static enum err keep_days(struct embedded *e, bool all, struct fault *fault)
{
	struct day_list days = {0};
	int64_t due = INT64_MAX;
	enum err error;

	TRY(days_all(e, &days, fault));
	error = ERR_OK;
	vec_for_each (d, &days.v) {
		enum err one = keep_day(*d, all, error == ERR_OK ? fault : NULL);

		if (error == ERR_OK)
			error = one;
		day_rest(*d, clock_monotonic_ns());
		if (day_fresh_due(*d) < due)
			due = day_fresh_due(*d);
	}
	atomic_store(&e->fresh_due_ns, due);
	day_list_put(&days);
	return error;
}

/* A failure does not prevent other work, in particular work that frees space. */
static enum err look_after_all(struct embedded *e, bool all, bool retain, struct fault *fault)
{
	enum err error, one = ERR_OK;

	mutex_lock(&e->round_lock);
	error = find_tenants(e, all, fault);
	if (retain)
		one = retention_run(e, error == ERR_OK ? fault : NULL);
	if (error == ERR_OK)
		error = one;
	/* Merging takes room before it gives any back, and files that are closed must be opened. */
	if (!disk_guard_refuses(&e->disk))
		one = keep_days(e, all, error == ERR_OK ? fault : NULL);
	if (error == ERR_OK)
		error = one;
	sync_journals(e);
	if (!e->warmed && !disk_guard_refuses(&e->disk)) {
		e->warmed = true;
		totals_warm(e);
	}
	partitions_evict(e);
	mutex_unlock(&e->round_lock);
	return error;
}

/* Record the error for the statistics. */
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

/* One round; requires the lock. */
struct keeper_due {
	int64_t round_ns, retention_ns;
	bool was_full;
};

static void keep(struct embedded *e, struct keeper_due *due)
{
	bool full, retain;

	embedded_look(e);
	full = disk_guard_refuses(&e->disk);
	/* Limits may make room at once. */
	if (full && !due->was_full)
		due->round_ns = due->retention_ns = 0;
	due->was_full = full;
	retain = clock_monotonic_ns() >= due->retention_ns;
	if (clock_monotonic_ns() < due->round_ns)
		return;
	/* Record failures, which are retried in the next round. */
	(void)!keeper_round(e, false, retain, NULL);
	due->round_ns = clock_monotonic_ns() + ROUND_NS;
	if (retain)
		due->retention_ns = clock_monotonic_ns() + RETENTION_NS;
}

static void run(void *context)
{
	struct embedded *e = context;
	struct keeper_due due = {0};

	mutex_lock(&e->keeper_lock);
	while (!e->keeper_stop) {
		if (e->keeper_hurry)
			due.round_ns = due.retention_ns = 0;
		e->keeper_hurry = false;
		mutex_unlock(&e->keeper_lock);
		keep(e, &due);
		mutex_lock(&e->keeper_lock);
		if (!e->keeper_stop && !e->keeper_hurry)
			cond_wait_until(&e->keeper_wake, &e->keeper_lock,
					clock_monotonic_ns() + (disk_guard_refuses(&e->disk)
									? PROBE_NS
									: ROUND_NS / 4));
	}
	mutex_unlock(&e->keeper_lock);
}

void keeper_hurry(struct embedded *e)
{
	mutex_lock(&e->keeper_lock);
	e->keeper_hurry = true;
	cond_broadcast(&e->keeper_wake);
	mutex_unlock(&e->keeper_lock);
}

enum err keeper_start(struct embedded *e)
{
	return thread_start(&e->keeper, "store-keeper", run, e);
}

void keeper_stop(struct embedded *e)
{
	atomic_store(&e->keeper_ends, true);
	mutex_lock(&e->keeper_lock);
	e->keeper_stop = true;
	cond_broadcast(&e->keeper_wake);
	mutex_unlock(&e->keeper_lock);
	thread_join(&e->keeper);
}
