/*
 * Long profiles. A query must find profiles that start before its range and extend into it: it
 * reads windows up to USUAL_REACH_NS before the range, and the windows in which longer profiles
 * start. So a profile of an hour slows down only queries of that hour.
 */
#include <stdlib.h>

#include "store/coverage.h"
#include "store/reach.h"
#include "store/upkeep.h"

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

/* Compared with the tallies in the rows of services and the ledger. */
struct reach_tallies {
	VEC(struct tally) v; /* by service */
};

static void tally_reach(struct reach_tallies *t, uint32_t service, uint64_t seal)
{
	if (service < t->v.n)
		tally_add(&t->v.v[service], seal);
}

static enum err begin_tallies(struct day *d, struct reach_tallies *t)
{
	uint32_t most = 0;

	vec_for_each (ds, &d->services)
		most = atomic_load(&(*ds)->id) > most ? atomic_load(&(*ds)->id) : most;
	TRY(vec_reserve(&t->v, (size_t)most + 1));
	memset(t->v.v, 0, ((size_t)most + 1) * sizeof(*t->v.v));
	t->v.n = (size_t)most + 1;
	return ERR_OK;
}

static bool tallies_agree(const struct day *d, const struct reach_tallies *t)
{
	bool good = tally_equal(&t->v.v[0], &d->ledger.tallies[TALLY_MARKS]);

	vec_for_each (ds, &d->services) {
		uint32_t id = atomic_load(&(*ds)->id);

		good &= !id || tally_equal(&t->v.v[id], &(*ds)->row.tallies[TALLY_REACHES]);
	}
	return good;
}

static enum err load_all(struct day *d, struct db *reader, struct reach_tallies *tallies,
			 bool *ret_good, struct fault *fault)
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
		int64_t window = sqlite3_column_int64(q, 1), longest = sqlite3_column_int64(q, 2);
		uint64_t seal = seal_reach(atomic_load(&d->key), service, window, longest);
		struct reach reach;

		/* In a file that is damaged, any number. */
		if (__builtin_mul_overflow(window, WINDOW_NS, &reach.window_ns) ||
		    __builtin_mul_overflow(longest, NS_PER_MILLI, &reach.longest_ns)) {
			*ret_good = false;
			continue;
		}
		*ret_good &= day_seal_good(d, reader, sqlite3_column_int64(q, 3), seal);
		tally_reach(tallies, service, (uint64_t)sqlite3_column_int64(q, 3));
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

enum err reach_load(struct day *d, struct db *reader, bool *ret_good, struct fault *fault)
{
	struct reach_tallies tallies = {0};
	enum err error = begin_tallies(d, &tallies);

	*ret_good = true;
	if (error == ERR_OK)
		error = load_all(d, reader, &tallies, ret_good, fault);
	if (error == ERR_OK && reader->version >= DAY_SEALED_VERSION)
		*ret_good &= tallies_agree(d, &tallies);
	vec_release(&tallies.v);
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
	int64_t window, longest;
	uint64_t seal;
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
	window = reach.window_ns / WINDOW_NS;
	longest = reach.longest_ns / NS_PER_MILLI;
	seal = seal_reach(atomic_load(&c->day->key), ds->new_id, window, longest);
	/* An existing row is shorter, or it would be in memory: replace it. */
	TRY(change_take_with(c, ds, TALLY_REACHES, REACH_DELETE, fault, ds->new_id, window));
	TRY(change_added_of(c, ds, TALLY_REACHES, seal));
	return db_run_with(c->writer, REACH_PUT, fault, ds->new_id, window, longest, (int64_t)seal);
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
	return is_damage(error) ? ERR_OK : error;
}

static enum err measure_blocks(struct change *c, struct day_service *ds, struct db *reader,
			       struct fault *fault)
{
	sqlite3_stmt *q;
	bool row;
	enum err error;

	TRY(db_query_with(reader, BLOCK_RANGE, &q, fault, ds->new_id, 0, INT64_MAX));
	while ((error = db_step(reader, q, &row, fault)) == ERR_OK && row)
		if ((error = measure_block(c, ds, db_column(q, 6), fault)) != ERR_OK)
			break;
	db_reset(q);
	return error;
}

static enum err measure_chunks(struct change *c, struct db *reader, struct fault *fault)
{
	sqlite3_stmt *q;
	bool row;
	enum err error;

	TRY(db_query_with(reader, CHUNK_ALL, &q, fault, 0, INT64_MAX));
	while ((error = db_step(reader, q, &row, fault)) == ERR_OK && row) {
		struct day_service *ds =
			day_service_by_id(c->day, (uint32_t)sqlite3_column_int64(q, 1));
		struct arena arena = {0};
		struct chunk_view v;

		error = ds ? change_touch(c, ds) : ERR_OK;
		if (ds && error == ERR_OK && chunk_open(db_column(q, 3), &arena, &v) == ERR_OK)
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
	return change_take_with(c, NULL, TALLY_MARKS, REACH_DELETE_OF, fault, 0);
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
