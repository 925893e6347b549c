/* One transaction on a day's file, and what it means for the tables in memory. */
#include "store/coverage.h"
#include "store/embedded_index.h"
#include "store/reach.h"

#define KEY_TRIES 4096

enum err change_begin(struct change *c, struct day *d, struct fault *fault)
{
	enum err error;

	*c = (struct change){.day = d, .bytes = BUF_INIT(SIZE_MAX)};
	TRY(day_writer(d, &c->writer, fault));
	c->before = d->ledger;
	error = db_begin(c->writer, true, fault);
	if (error != ERR_OK)
		mutex_unlock(&d->write);
	return error;
}

enum err change_touch(struct change *c, struct day_service *ds)
{
	if (ds->touched)
		return ERR_OK;
	TRY(vec_push(&c->touched, ds));
	ds->touched = true;
	ds->new_id = atomic_load(&ds->id);
	ds->delta_of = NULL;
	ds->delta_last = NULL;
	ds->row_before = ds->row;
	return ERR_OK;
}

/* Others get their turn at the lock after so many steps. */
#define TURN 1000

static void take_turns(struct embedded *e)
{
	engine_step(e);
	if (e->steps < TURN)
		return;
	engine_unlock(e);
	engine_lock(e);
}

/* ------------------------------------------------------------------ what the ledger says */

enum err change_added_of(struct change *c, struct day_service *ds, int tally, uint64_t seal)
{
	TRY(change_touch(c, ds));
	tally_add(&ds->row.tallies[tally], seal);
	return ERR_OK;
}

enum err change_take(struct change *c, struct day_service *ds, int tally, unsigned which,
		     const int64_t *numbers, int n, struct fault *fault)
{
	struct ledger *l = &c->day->ledger;
	struct tally *t = ds ? &ds->row.tallies[tally] : &l->tallies[tally];
	bool row, any = false;
	sqlite3_stmt *q;
	enum err error;

	if (ds)
		TRY(change_touch(c, ds));
	TRY(db_query_numbers(c->writer, which - 1, numbers, n, &q, fault));
	while ((error = db_step(c->writer, q, &row, fault)) == ERR_OK && row) {
		uint64_t seal = (uint64_t)sqlite3_column_int64(q, 0);

		tally_take(t, seal);
		l->unsealed -= !seal && l->unsealed;
		any = true;
	}
	db_reset(q);
	if (any && c->day->name.kind == DAY_SPANS)
		l->tallies[TALLY_SPAN_SERVICES] = l->tallies[TALLY_SPAN_TRACES] = (struct tally){0};
	return error == ERR_OK && any ? db_run_numbers(c->writer, which, numbers, n, fault) : error;
}

/* Rewrites the row of a service with its new tallies and seal. */
static enum err seal_row(struct change *c, struct day_service *ds, struct fault *fault)
{
	struct tally *services = &c->day->ledger.tallies[TALLY_SERVICES];
	uint8_t tallies[SERVICE_TALLIES * TALLY_BYTES];
	uint64_t before = ds->row.seal;
	sqlite3_stmt *q;

	if (!ds->new_id || (before && memcmp(&ds->row, &ds->row_before, sizeof(ds->row)) == 0))
		return ERR_OK;
	tally_write(ds->row.tallies, SERVICE_TALLIES, tallies);
	ds->row.seal = seal_service(atomic_load(&c->day->key), ds->new_id, str_of(ds->name),
				    ds->row.series, ds->row.tallies) ^
		       ds->row.altered;
	TRY(db_query_with(c->writer, SERVICE_PUT, &q, fault, ds->row.series));
	db_bind(q, 2, str_n((const char *)tallies, sizeof(tallies)));
	sqlite3_bind_int64(q, 3, (int64_t)ds->row.seal);
	sqlite3_bind_int64(q, 4, ds->new_id);
	TRY(db_run(c->writer, q, fault));
	services->sum += ds->row.seal - before;
	return ERR_OK;
}

enum err change_drop_service(struct change *c, struct day_service *ds, struct fault *fault)
{
	TRY(change_touch(c, ds));
	TRY(db_run_with(c->writer, SERVICE_DELETE, fault, atomic_load(&ds->id)));
	tally_take(&c->day->ledger.tallies[TALLY_SERVICES], ds->row.seal);
	ds->new_id = 0;
	ds->row = (struct service_row){0};
	return ERR_OK;
}

enum err change_commit(struct change *c, struct fault *fault)
{
	struct day *d = c->day;

	vec_for_each (ds, &c->touched)
		TRY(seal_row(c, *ds, fault));
	d->ledger.commits++;
	TRY(ledger_write(c->writer, d->place, &d->ledger, fault));
	TRY(db_commit(c->writer, fault));
	atomic_store(&d->unsealed, d->ledger.unsealed > 0);
	/* The commit succeeded; the journal only serves to detect damage later. */
	(void)!journal_note(&d->tenant->journal, d->name.kind, d->name.day, d->ledger.file,
			    d->ledger.commits, NULL);
	return ERR_OK;
}

/* ------------------------------------------------------------------ the end */

/* The tables in memory now say what the file says. Nothing here can fail. */
static void publish(struct change *c)
{
	struct embedded *e = c->day->engine;
	struct prepared_delta *written = NULL;

	engine_lock(e);
	vec_for_each (s, &c->touched) {
		struct day_service *ds = *s;

		atomic_store(&ds->id, ds->new_id);
		if (ds->delta_of) {
			ds->delta_of->persisted = ds->delta_end;
			atomic_store(&ds->series, ds->delta_end.series);
			written = delta_written(ds->delta_of, ds->delta_last, written);
		}
		take_turns(e);
	}
	reach_publish(c);
	engine_unlock(e);
	mutex_lock(&c->day->lists);
	vec_for_each (chunk, &c->inserted.v)
		day_service_add_fresh(chunk->service, chunk->chunk);
	mutex_unlock(&c->day->lists);
	delta_free_chain(written);
	atomic_store(&c->day->settled, false);
	atomic_fetch_add(&c->day->changes, 1);
	atomic_fetch_add(&e->commits, 1);
}

enum err change_end(struct change *c, enum err error, struct fault *fault)
{
	if (error == ERR_OK)
		error = change_commit(c, fault);
	return change_finish(c, error);
}

enum err change_finish(struct change *c, enum err error)
{
	if (error == ERR_OK)
		publish(c);
	else
		db_rollback(c->writer);
	index_publish(c, error == ERR_OK);
	if (error != ERR_OK) {
		atomic_store(&c->day->spans_counted, false);
		c->day->ledger = c->before;
	}
	vec_for_each (s, &c->touched) {
		if (error != ERR_OK)
			(*s)->row = (*s)->row_before;
		/* Not earlier: cached totals must include the news of the index. */
		service_changed(*s);
		(*s)->touched = false;
		(*s)->coming = 0;
		(*s)->delta_of = NULL;
		(*s)->delta_last = NULL;
		if (error != ERR_OK)
			(*s)->next_delta = 0;
	}
	mutex_unlock(&c->day->write);
	vec_release(&c->touched);
	vec_release(&c->inserted.v);
	vec_release(&c->reaches);
	chunk_scratch_release(&c->scratch);
	buf_release(&c->bytes);
	return error;
}

enum err change_service(struct change *c, struct day_service *ds, struct fault *fault)
{
	sqlite3_stmt *q;

	TRY(change_touch(c, ds));
	if (ds->new_id)
		return ERR_OK;
	TRY(db_statement(c->writer, SERVICE_ADD, &q, fault));
	db_bind(q, 1, str_of(ds->name));
	TRY(db_run(c->writer, q, fault));
	ds->new_id = (uint32_t)sqlite3_last_insert_rowid(c->writer->handle);
	ds->next_delta = 1;
	/* seal_row writes tallies and seal at the end. */
	ds->row = (struct service_row){0};
	change_added(c, TALLY_SERVICES, 0);
	return day_service_expect_id(ds, ds->new_id);
}

/* Room for the key before the commit, so that nothing can fail after it. */
static enum err make_room(struct change *c, struct day_service *ds)
{
	enum err error;

	TRY(vec_reserve(&c->inserted.v, 1));
	mutex_lock(&c->day->lists);
	error = vec_reserve(&ds->fresh, ds->coming + 1);
	mutex_unlock(&c->day->lists);
	return error;
}

enum err change_chunk(struct change *c, struct day_service *ds, const struct encoded_chunk *info,
		      struct str bytes, struct fault *fault)
{
	enum err error = ERR_EXISTS;
	uint64_t seal = 0;
	sqlite3_stmt *q;
	int64_t key = 0;

	TRY(change_service(c, ds, fault));
	TRY(make_room(c, ds));
	for (int i = 0; i < KEY_TRIES && error == ERR_EXISTS; i++) {
		key = row_key(info->time_ns, c->day->sequence++);
		seal = seal_chunk(atomic_load(&c->day->key), key, ds->new_id, info->rows, bytes);
		TRY(db_query_with(c->writer, CHUNK_ADD, &q, fault, key, ds->new_id, info->rows,
				  (int64_t)seal));
		db_bind(q, 5, bytes);
		error = db_run(c->writer, q, fault);
	}
	TRY(error);
	change_added(c, TALLY_CHUNKS, seal);
	ds->coming++;
	c->inserted.v.v[c->inserted.v.n++] = (struct inserted_chunk){
		.service = ds,
		.chunk = {key, info->rows},
		.seal = seal,
		.series = info->series,
		.first_ns = info->time_ns,
		.last_ns = last_moment(info->time_ns, info->duration_ns),
	};
	return reach_note(c, ds, info->time_ns, info->duration_ns, fault);
}
