/*
 * Deletes old data: whole files if possible, else services. Age is measured time (trusted_clock.h):
 * while the wall clock is not trusted, nothing is deleted, and time in which the machine was off
 * does not count.
 */
#include "store/embedded_index.h"
#include "store/upkeep.h"

static bool expired(int64_t age_ns, int64_t retention_ns)
{
	return retention_ns > 0 && age_ns > retention_ns;
}

static int64_t retention_of(const struct embedded *e, struct str service)
{
	const struct store_options *o = &e->base.options;

	for (size_t i = 0; i < o->override_count; i++)
		if (str_eq(o->overrides[i].service, service))
			return o->overrides[i].retention_ns;
	return o->retention_ns;
}

/* ------------------------------------------------------------------ services */

static enum err drop_rows(struct day_service *ds, struct fault *fault)
{
	int64_t id = atomic_load(&ds->id);
	struct change c;
	enum err error = change_begin(&c, ds->day, fault);

	if (error != ERR_OK)
		return error;
	error = change_touch(&c, ds);
	if (error == ERR_OK)
		error = change_take_with(&c, NULL, TALLY_CHUNKS, CHUNK_DELETE_OF, fault, id);
	if (error == ERR_OK)
		error = change_take_with(&c, ds, TALLY_BLOCKS, BLOCK_DELETE_OF, fault, id);
	if (error == ERR_OK)
		error = change_take_with(&c, ds, TALLY_ROLLUPS, ROLLUP_DELETE_OF, fault, id);
	if (error == ERR_OK)
		error = change_take_with(&c, ds, TALLY_REACHES, REACH_DELETE_OF, fault, id);
	if (error == ERR_OK)
		error = change_take_with(&c, ds, TALLY_DICTIONARY, DICTIONARY_DELETE, fault,
					 dictionary_key((uint32_t)id, 0),
					 dictionary_key((uint32_t)id, UINT32_MAX));
	if (error == ERR_OK)
		error = index_delete(&c, ds, fault);
	if (error == ERR_OK)
		error = change_drop_service(&c, ds, fault);
	return change_end(&c, error, fault);
}

enum err service_count(struct day_service *ds, uint64_t *ret, struct fault *fault)
{
	int64_t id = atomic_load(&ds->id);
	uint64_t profiles = ds->fresh.n;
	struct db *reader;
	sqlite3_stmt *q;
	bool row;
	enum err error;

	TRY(day_reader(ds->day, &reader, fault));
	error = db_query_with(reader, BLOCK_KEYS, &q, fault, id, id);
	while (error == ERR_OK && (error = db_step(reader, q, &row, fault)) == ERR_OK && row)
		profiles += (uint64_t)sqlite3_column_int64(q, 2);
	if (error == ERR_OK)
		db_reset(q);
	day_reader_back(ds->day, reader, error);
	*ret = profiles;
	return error;
}

enum err service_drop(struct day_service *ds, uint64_t *ret_profiles, struct fault *fault)
{
	uint64_t profiles = 0;
	enum err error;

	if (!atomic_load(&ds->id))
		return ERR_OK;
	TRY(service_count(ds, &profiles, fault));
	service_close(ds);
	error = drop_rows(ds, fault);
	if (error == ERR_OK) {
		/* New data starts with an empty dictionary. */
		service_replace(ds, NULL);
		atomic_fetch_sub(&ds->day->quota.series, atomic_exchange(&ds->series, 0));
		mutex_lock(&ds->day->lists);
		day_service_clear_fresh(ds);
		mutex_unlock(&ds->day->lists);
		/* The rows of long profiles were deleted, too: write them again. */
		engine_lock(ds->day->engine);
		ds->reaches.n = 0;
		engine_unlock(ds->day->engine);
	}
	service_reopen(ds);
	if (error == ERR_OK && ret_profiles)
		*ret_profiles += profiles;
	return error;
}

static enum err drop_expired(struct day_service *ds, struct fault *fault)
{
	uint64_t profiles = 0, bytes = service_bytes(ds);

	TRY(service_drop(ds, &profiles, fault));
	deletion_tell(ds->day, STORE_DELETED_AGE, str_of(ds->name), bytes, profiles);
	return ERR_OK;
}

static enum err drop_expired_services(struct day *d, int64_t age_ns, struct fault *fault)
{
	bool dropped = false;
	enum err error = ERR_OK;

	TRY(day_look_into(d, fault));
	mutex_lock(&d->upkeep);
	for (size_t i = 0; error == ERR_OK && i < d->services.n; i++) {
		struct day_service *ds = d->services.v[i];

		if (!atomic_load(&ds->id) ||
		    !expired(age_ns, retention_of(d->engine, str_of(ds->name))))
			continue;
		error = drop_expired(ds, fault);
		dropped = true;
	}
	if (error == ERR_OK && dropped)
		error = day_shrink(d, fault);
	mutex_unlock(&d->upkeep);
	return error;
}

/* ------------------------------------------------------------------ by age */

/* The shortest and the longest that anything of a day is kept; 0 = for ever. */
static void retention_bounds(const struct embedded *e, int64_t *ret_least, int64_t *ret_most)
{
	const struct store_options *o = &e->base.options;
	int64_t least = o->retention_ns, most = o->retention_ns;

	for (size_t i = 0; i < o->override_count; i++) {
		int64_t r = o->overrides[i].retention_ns;

		if (r > 0 && (least <= 0 || r < least))
			least = r;
		if (most > 0 && (r <= 0 || r > most))
			most = r <= 0 ? 0 : r;
	}
	*ret_least = least;
	*ret_most = most;
}

static enum err retain_day(struct day *d, struct fault *fault)
{
	int64_t end_ns = (d->name.day + 1) * NS_PER_DAY, least, most;
	int64_t age_ns = trusted_clock_age(&d->engine->base.clock, end_ns);

	if (d->gone)
		return ERR_OK;
	if (d->name.kind == DAY_SPANS)
		return expired(age_ns, d->engine->base.options.span_retention_ns)
			       ? day_delete(d, STORE_DELETED_AGE, fault)
			       : ERR_OK;
	retention_bounds(d->engine, &least, &most);
	if (expired(age_ns, most))
		return day_delete(d, STORE_DELETED_AGE, fault);
	return expired(age_ns, least) ? drop_expired_services(d, age_ns, fault) : ERR_OK;
}

/* One day's trouble does not keep the others from being deleted. */
static enum err retain_all(struct embedded *e, const struct day_list *days, struct fault *fault)
{
	enum err error = ERR_OK;

	vec_for_each (d, &days->v) {
		struct store_clock_state clock;
		enum err one;

		/* Deleting takes its time, and the clock may jump meanwhile. */
		(void)trusted_clock_look(&e->base.clock, &clock);
		if (clock.trust != STORE_CLOCK_TRUSTED)
			break;
		one = retain_day(*d, error == ERR_OK ? fault : NULL);
		if (one != ERR_OK && embedded_make_room(e, one))
			one = retain_day(*d, error == ERR_OK ? fault : NULL);
		if (error == ERR_OK)
			error = one;
	}
	return error;
}

/* Gaps before everything that is kept. */
static void forget_gaps(struct embedded *e)
{
	int64_t least, most, spans = e->base.options.span_retention_ns;

	retention_bounds(e, &least, &most);
	if (most <= 0 || spans <= 0)
		return;
	most = most > spans ? most : spans;
	/* Twice: days are deleted at their end, and what was not counted was kept longer. */
	trusted_clock_forget(&e->base.clock, store_now(&e->base) - 2 * most - NS_PER_DAY);
}

enum err retention_run(struct embedded *e, struct fault *fault)
{
	struct day_list days = {0};
	enum err error, size;

	TRY(days_all(e, &days, fault));
	error = retain_all(e, &days, fault);
	size = quota_run(e, &days, error == ERR_OK ? fault : NULL);
	day_list_put(&days);
	forget_gaps(e);
	return error == ERR_OK ? size : error;
}
