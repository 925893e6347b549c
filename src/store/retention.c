/* What is too old or too much goes: whole files where possible, else services, else windows. */
#include <stdlib.h>

#include "store/embedded.h"

/* Below the limit by this much, so that the next byte is not over it again. */
#define ROOM_PERCENT 5

static bool expired(int64_t end_ns, int64_t retention_ns, int64_t now_ns)
{
	return retention_ns > 0 && end_ns < now_ns - retention_ns;
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
	struct embedded *e = ds->day->engine;
	uint64_t profiles = 0;
	enum err error;

	if (!atomic_load(&ds->id))
		return ERR_OK;
	TRY(service_count(ds, &profiles, fault));
	service_close(ds);
	error = drop_rows(ds, fault);
	if (error == ERR_OK) {
		/* What is being written now begins anew, with an empty dictionary. */
		service_replace(ds, NULL);
		atomic_fetch_sub(&ds->day->quota.series, atomic_exchange(&ds->series, 0));
		mutex_lock(&e->lock);
		/* What the file says of long profiles is gone, too: it is noted again. */
		ds->fresh.n = ds->reaches.n = 0;
		mutex_unlock(&e->lock);
	}
	service_reopen(ds);
	if (error == ERR_OK && ret_profiles)
		*ret_profiles += profiles;
	return error;
}

static enum err drop_expired_services(struct day *d, int64_t now_ns, struct fault *fault)
{
	int64_t end_ns = (d->name.day + 1) * NS_PER_DAY;
	bool dropped = false;
	enum err error = ERR_OK;

	TRY(day_look_into(d, fault));
	mutex_lock(&d->upkeep);
	for (size_t i = 0; error == ERR_OK && i < d->services.n; i++) {
		struct day_service *ds = d->services.v[i];

		if (!atomic_load(&ds->id) ||
		    !expired(end_ns, retention_of(d->engine, str_of(ds->name)), now_ns))
			continue;
		error = service_drop(ds, NULL, fault);
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

static enum err retain_day(struct day *d, int64_t now_ns, struct fault *fault)
{
	int64_t end_ns = (d->name.day + 1) * NS_PER_DAY, least, most;

	if (d->name.kind == DAY_SPANS)
		return expired(end_ns, d->engine->base.options.span_retention_ns, now_ns)
			       ? day_drop(d, fault)
			       : ERR_OK;
	retention_bounds(d->engine, &least, &most);
	if (expired(end_ns, most, now_ns))
		return day_drop(d, fault);
	return expired(end_ns, least, now_ns) ? drop_expired_services(d, now_ns, fault) : ERR_OK;
}

/* ------------------------------------------------------------------ by size */

/* The end of the oldest window that holds anything; INT64_MAX when there is only one. */
static enum err oldest_window(struct day *d, int64_t *ret_end_ns, struct fault *fault)
{
	int64_t oldest = INT64_MAX, newest = INT64_MIN;
	struct db *reader;
	sqlite3_stmt *q;
	bool row;
	enum err error;

	TRY(day_reader(d, &reader, fault));
	error = db_statement(reader, BLOCK_COUNT, &q, fault);
	if (error == ERR_OK && (error = db_step(reader, q, &row, fault)) == ERR_OK) {
		if (sqlite3_column_int64(q, 0)) {
			oldest = sqlite3_column_int64(q, 3);
			newest = sqlite3_column_int64(q, 4);
		}
		db_reset(q);
	}
	day_reader_back(d, reader, error);
	TRY(error);
	mutex_lock(&d->engine->lock);
	vec_for_each (ds, &d->services)
		vec_for_each (chunk, &(*ds)->fresh) {
			int64_t time = row_time_ns(chunk->key);

			oldest = time < oldest ? time : oldest;
			newest = time > newest ? time : newest;
		}
	mutex_unlock(&d->engine->lock);
	*ret_end_ns = INT64_MAX;
	if (newest > oldest && newest / WINDOW_NS != oldest / WINDOW_NS)
		*ret_end_ns = (oldest / WINDOW_NS + 1) * WINDOW_NS;
	return ERR_OK;
}

struct old_rows {
	VEC(int64_t) blocks, services, chunks;
};

static enum err find_old(struct day *d, struct db *writer, int64_t before, struct old_rows *ret,
			 struct fault *fault)
{
	sqlite3_stmt *q;
	bool row;
	enum err error;

	TRY(db_query_with(writer, BLOCK_BEFORE, &q, fault, before));
	while ((error = db_step(writer, q, &row, fault)) == ERR_OK && row) {
		error = vec_push(&ret->blocks, sqlite3_column_int64(q, 0));
		if (error == ERR_OK)
			error = vec_push(&ret->services, sqlite3_column_int64(q, 1));
		if (error != ERR_OK)
			break;
	}
	db_reset(q);
	mutex_lock(&d->engine->lock);
	vec_for_each (ds, &d->services)
		vec_for_each (chunk, &(*ds)->fresh)
			if (error == ERR_OK && chunk->key < before)
				error = vec_push(&ret->chunks, chunk->key);
	mutex_unlock(&d->engine->lock);
	return error;
}

static enum err delete_old(struct change *c, const struct old_rows *old, struct fault *fault)
{
	for (size_t i = 0; i < old->chunks.n; i++)
		TRY(change_take_with(c, NULL, TALLY_CHUNKS, CHUNK_DELETE, fault, old->chunks.v[i]));
	for (size_t i = 0; i < old->blocks.n; i++) {
		struct day_service *ds = day_service_by_id(c->day, (uint32_t)old->services.v[i]);

		if (!ds)
			continue;
		TRY(change_take_with(c, ds, TALLY_BLOCKS, BLOCK_DELETE, fault, old->blocks.v[i]));
		TRY(rollups_forget(c, ds, row_time_ns(old->blocks.v[i]), fault));
	}
	return ERR_OK;
}

static int by_key(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static enum err cut_before(struct day *d, int64_t end_ns, struct fault *fault)
{
	struct old_rows old = {0};
	struct change c;
	enum err error = change_begin(&c, d, fault);

	if (error != ERR_OK)
		return error;
	error = find_old(d, c.writer, row_key(end_ns, 0), &old, fault);
	if (error == ERR_OK)
		error = delete_old(&c, &old, fault);
	error = change_end(&c, error, fault);
	if (error == ERR_OK && old.chunks.n) {
		qsort(old.chunks.v, old.chunks.n, sizeof(*old.chunks.v), by_key);
		for (size_t i = 0; i < d->services.n; i++)
			day_service_remove_fresh(d->services.v[i], old.chunks.v, old.chunks.n);
	}
	vec_release(&old.blocks);
	vec_release(&old.services);
	vec_release(&old.chunks);
	return error;
}

/* Takes windows from the beginning of a day until the file is `excess` bytes smaller. */
static enum err cut_day(struct day *d, uint64_t excess, struct fault *fault)
{
	uint64_t begin = db_disk_bytes(d->path);
	struct db *writer;
	int64_t end_ns = 0;
	enum err error;

	TRY(day_look_into(d, fault));
	mutex_lock(&d->upkeep);
	do {
		error = oldest_window(d, &end_ns, fault);
		if (error != ERR_OK || end_ns == INT64_MAX)
			break;
		error = cut_before(d, end_ns, fault);
		if (error == ERR_OK)
			error = day_shrink(d, fault);
		if (error == ERR_OK && (error = day_writer(d, &writer, fault)) == ERR_OK) {
			error = db_checkpoint(writer, fault);
			mutex_unlock(&d->write);
		}
	} while (error == ERR_OK && db_disk_bytes(d->path) + excess > begin);
	mutex_unlock(&d->upkeep);
	return error;
}

static struct day *oldest_day(const struct day_list *days, bool *ret_only)
{
	struct day *oldest = NULL;
	int64_t newest = INT64_MIN;

	vec_for_each (d, &days->v) {
		if ((*d)->gone || !atomic_load(&(*d)->exists))
			continue;
		newest = (*d)->name.day > newest ? (*d)->name.day : newest;
		if (!oldest || (*d)->name.day < oldest->name.day)
			oldest = *d;
	}
	*ret_only = oldest && oldest->name.day == newest;
	return oldest;
}

static enum err retain_size(struct embedded *e, const struct day_list *days, struct fault *fault)
{
	uint64_t most = e->base.options.max_size, total = 0;
	enum err error = ERR_OK;
	bool only;

	vec_for_each (d, &days->v)
		if (!(*d)->gone)
			total += db_disk_bytes((*d)->path);
	if (!most || total <= most)
		return ERR_OK;
	most -= most / 100 * ROOM_PERCENT;
	while (error == ERR_OK && total > most) {
		struct day *d = oldest_day(days, &only);
		uint64_t size;

		if (!d)
			break;
		size = db_disk_bytes(d->path);
		if (!only) {
			error = day_drop(d, fault);
			total -= size < total ? size : total;
			continue;
		}
		/* All that is left is of one day: of each file its share. */
		vec_for_each (one, &days->v)
			if (error == ERR_OK && !(*one)->gone && (*one)->name.kind == DAY_PROFILES)
				error = cut_day(*one,
						(total - most) *
							(db_disk_bytes((*one)->path) / 4096) /
							(total / 4096 + 1),
						fault);
		break;
	}
	return error;
}

enum err retention_run(struct embedded *e, struct fault *fault)
{
	int64_t now = store_now(&e->base);
	struct day_list days = {0};
	enum err error;

	TRY(days_all(e, &days, fault));
	error = ERR_OK;
	for (size_t i = 0; error == ERR_OK && i < days.v.n; i++)
		error = retain_day(days.v.v[i], now, fault);
	if (error == ERR_OK)
		error = retain_size(e, &days, fault);
	day_list_put(&days);
	return error;
}
