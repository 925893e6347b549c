/*
 * Profiles that last longer than usual. A question must find those that start before its range and
 * reach into it; it looks so far back as profiles usually last, and besides at the windows in which
 * longer ones start. An upload of an hour slows down questions of that hour, and no others.
 */
#include <stdlib.h>

#include "store/coverage.h"
#include "store/embedded.h"

#define BLOCK_MEMORY (256u << 20)
#define NS_PER_MILLI 1000000

static int64_t window_of(int64_t time_ns)
{
	return time_ns - time_ns % WINDOW_NS;
}

/* ------------------------------------------------------------------ in memory */

/* With engine->lock. Room for one more must be there, unless the window is known. */
static struct reach *find_reach(struct day_service *ds, int64_t window_ns)
{
	vec_for_each (r, &ds->reaches)
		if (r->window_ns == window_ns)
			return r;
	return NULL;
}

/* The same, with room. */
static void put_reach(struct day_service *ds, const struct reach *reach)
{
	struct reach *known = find_reach(ds, reach->window_ns);

	if (!known)
		ds->reaches.v[ds->reaches.n++] = *reach;
	else if (known->longest_ns < reach->longest_ns)
		known->longest_ns = reach->longest_ns;
}

static enum err load_one(struct day *d, uint32_t service, const struct reach *reach)
{
	struct day_service *ds = day_service_by_id(d, service);
	enum err error;

	if (!ds)
		return ERR_OK;
	engine_lock(d->engine);
	error = vec_reserve(&ds->reaches, 1);
	if (error == ERR_OK)
		put_reach(ds, reach);
	engine_unlock(d->engine);
	return error;
}

enum err reach_load(struct day *d, struct db *reader, struct fault *fault)
{
	bool measured = true, row;
	sqlite3_stmt *q;
	enum err error;

	atomic_store(&d->measured, false);
	if (reader->version < 2)
		return ERR_OK;
	TRY(db_statement(reader, REACH_ALL, &q, fault));
	while ((error = db_step(reader, q, &row, fault)) == ERR_OK && row) {
		uint32_t service = (uint32_t)sqlite3_column_int64(q, 0);
		struct reach reach = {sqlite3_column_int64(q, 1) * WINDOW_NS,
				      sqlite3_column_int64(q, 2) * NS_PER_MILLI};

		measured &= service != 0;
		error = service ? load_one(d, service, &reach) : ERR_OK;
		if (error != ERR_OK)
			break;
	}
	db_reset(q);
	if (error == ERR_OK)
		atomic_store(&d->measured, measured);
	return error;
}

enum err reach_windows(struct day_service *ds, int64_t since_ns, int64_t from_ns, int64_t *ret_low,
		       struct window_list *ret)
{
	struct embedded *e = ds->day->engine;
	int64_t low = from_ns - (from_ns > INT64_MIN + USUAL_REACH_NS ? USUAL_REACH_NS : 0);
	enum err error = ERR_OK;

	if (!atomic_load(&ds->day->measured) && from_ns > INT64_MIN + PROFILE_LONGEST_NS)
		low = from_ns - PROFILE_LONGEST_NS;
	low = since_ns < low ? since_ns : low;
	*ret_low = low;
	engine_lock(e);
	vec_for_each (r, &ds->reaches) {
		if (r->window_ns + WINDOW_NS + r->longest_ns <= from_ns || r->window_ns >= low)
			continue;
		error = vec_push(&ret->v, r->window_ns);
		if (error != ERR_OK)
			break;
	}
	engine_unlock(e);
	if (ret->v.n)
		qsort(ret->v.v, ret->v.n, sizeof(*ret->v.v), compare_row_keys);
	return error;
}

bool reach_after_day(struct day_service *ds, int64_t since_ns, int64_t from_ns)
{
	int64_t end = (ds->day->name.day + 1) * NS_PER_DAY, low;
	struct window_list windows = {0};
	bool reaches = reach_windows(ds, since_ns, from_ns, &low, &windows) != ERR_OK ||
		       windows.v.n || low < end;

	vec_release(&windows.v);
	return reaches;
}

int64_t reach_longest(struct day_service *ds, int64_t from_ns, int64_t until_ns)
{
	int64_t longest = 0;

	engine_lock(ds->day->engine);
	vec_for_each (r, &ds->reaches)
		if (r->window_ns >= from_ns && r->window_ns < until_ns && r->longest_ns > longest)
			longest = r->longest_ns;
	engine_unlock(ds->day->engine);
	return longest;
}

/* ------------------------------------------------------------------ what is written */

static bool is_known(const struct change *c, struct day_service *ds, const struct reach *reach)
{
	struct reach *known;
	bool is;

	vec_for_each (noted, &c->reaches)
		if (noted->service == ds && noted->reach.window_ns == reach->window_ns &&
		    noted->reach.longest_ns >= reach->longest_ns)
			return true;
	engine_lock(ds->day->engine);
	known = find_reach(ds, reach->window_ns);
	is = known && known->longest_ns >= reach->longest_ns;
	engine_unlock(ds->day->engine);
	return is;
}

enum err reach_note(struct change *c, struct day_service *ds, int64_t time_ns, int64_t duration_ns,
		    struct fault *fault)
{
	int64_t length = profile_length(duration_ns);
	struct reach reach = {window_of(time_ns),
			      (length + NS_PER_MILLI - 1) / NS_PER_MILLI * NS_PER_MILLI};
	size_t coming = 1;
	enum err error;

	if (length <= USUAL_REACH_NS || is_known(c, ds, &reach))
		return ERR_OK;
	vec_for_each (noted, &c->reaches)
		coming += noted->service == ds;
	engine_lock(ds->day->engine);
	error = vec_reserve(&ds->reaches, coming);
	engine_unlock(ds->day->engine);
	TRY(error);
	TRY(vec_push(&c->reaches, ((struct long_profile){ds, reach})));
	return db_run_with(c->writer, REACH_PUT, fault, ds->new_id, reach.window_ns / WINDOW_NS,
			   reach.longest_ns / NS_PER_MILLI);
}

void reach_publish(struct change *c)
{
	vec_for_each (noted, &c->reaches)
		put_reach(noted->service, &noted->reach);
}

/* ------------------------------------------------------------------ what was written before */

static enum err measure_block(struct change *c, struct day_service *ds, struct str bytes,
			      struct fault *fault)
{
	struct block b = {0};
	enum err error = block_open(bytes, BLOCK_MEMORY, &b);

	for (size_t i = 0; error == ERR_OK && i < b.n; i++)
		error = reach_note(c, ds, b.chunks[i].head.time_ns, b.chunks[i].head.duration_ns,
				   fault);
	block_release(&b);
	/* Nothing of a damaged one is found anyhow. */
	return error == ERR_CORRUPT ? ERR_OK : error;
}

static enum err measure_blocks(struct change *c, struct day_service *ds, struct db *reader,
			       struct fault *fault)
{
	sqlite3_stmt *q;
	bool row;
	enum err error;

	TRY(db_query_with(reader, BLOCK_RANGE, &q, fault, ds->new_id, 0, INT64_MAX));
	while ((error = db_step(reader, q, &row, fault)) == ERR_OK && row)
		if ((error = measure_block(c, ds, db_column(q, 1), fault)) != ERR_OK)
			break;
	db_reset(q);
	return error;
}

static enum err measure_chunks(struct change *c, struct db *reader, struct fault *fault)
{
	sqlite3_stmt *q;
	bool row;
	enum err error;

	TRY(db_statement(reader, CHUNK_ALL, &q, fault));
	while ((error = db_step(reader, q, &row, fault)) == ERR_OK && row) {
		struct day_service *ds =
			day_service_by_id(c->day, (uint32_t)sqlite3_column_int64(q, 1));
		struct arena arena = {0};
		struct chunk_view v;

		error = ds ? change_touch(c, ds) : ERR_OK;
		if (ds && error == ERR_OK && chunk_open(db_column(q, 2), &arena, &v) == ERR_OK)
			error = reach_note(c, ds, v.head.time_ns, v.head.duration_ns, fault);
		arena_release(&arena);
		if (error != ERR_OK)
			break;
	}
	db_reset(q);
	return error;
}

static enum err measure_all(struct change *c, struct db *reader, struct fault *fault)
{
	struct day_service *ds;

	for (size_t i = 0; (ds = day_service_at(c->day, i)); i++) {
		if (!atomic_load(&ds->id))
			continue;
		TRY(change_touch(c, ds));
		TRY(measure_blocks(c, ds, reader, fault));
	}
	TRY(measure_chunks(c, reader, fault));
	return db_run_with(c->writer, REACH_DELETE_OF, fault, 0);
}

enum err reach_measure(struct day *d, struct fault *fault)
{
	struct db *reader = NULL;
	struct change c;
	enum err error;

	if (atomic_load(&d->measured))
		return ERR_OK;
	/* This also brings the file up to date. */
	TRY(change_begin(&c, d, fault));
	error = day_reader(d, &reader, fault);
	if (error == ERR_OK)
		error = measure_all(&c, reader, fault);
	day_reader_back(d, reader, error);
	error = change_end(&c, error, fault);
	if (error == ERR_OK)
		atomic_store(&d->measured, true);
	return error;
}
