#include "store/repair.h"

#include "store/spans.h"

/* ------------------------------------------------------------------ a new day */

static struct new_service *service_of(struct repair *r, int64_t old_id)
{
	vec_for_each (s, &r->services)
		if (s->old_id == old_id)
			return s;
	return NULL;
}

static enum err copy_service(struct repair *r, const struct walk_row *row)
{
	struct new_service s = {.old_id = row->service->id};
	sqlite3_stmt *q;

	TRY(db_statement(r->to, SERVICE_ADD, &q, r->fault));
	db_bind(q, 1, row->data);
	TRY(db_run(r->to, q, r->fault));
	s.id = sqlite3_last_insert_rowid(r->to->handle);
	s.name = mem_strdup(row->service->name);
	TRY(s.name ? vec_push(&r->services, s) : ERR_NO_MEMORY);
	return ERR_OK;
}

static enum err copy_dictionary(struct repair *r, struct new_service *s, const struct walk_row *row)
{
	int64_t key = dictionary_key((uint32_t)s->id, (uint32_t)row->id);
	uint64_t seal = seal_dictionary(r->key, key, row->data);
	sqlite3_stmt *q;

	TRY(db_query_with(r->to, DICTIONARY_ADD, &q, r->fault, key, (int64_t)seal));
	db_bind(q, 3, row->data);
	TRY(db_run(r->to, q, r->fault));
	s->series = (uint32_t)row->service->partition->series.n;
	tally_add(&s->tallies[TALLY_DICTIONARY], seal);
	return ERR_OK;
}

/* Skip rows of interrupted batches, which must not come back. */
static bool is_undone(const struct repair *r, enum day_kind kind, int64_t day, int64_t key)
{
	vec_for_each (row, &r->undone)
		if (row->file.kind == kind && row->file.day == day && row->key == key)
			return true;
	return false;
}

static enum err copy_chunk(struct repair *r, struct new_service *s, const struct walk_row *row)
{
	uint64_t seal = seal_chunk(r->key, row->id, s->id, row->columns[0], row->data);
	sqlite3_stmt *q;

	if (is_undone(r, DAY_PROFILES, row_time_ns(row->id) / NS_PER_DAY, row->id))
		return ERR_OK;
	TRY(db_query_with(r->to, CHUNK_ADD, &q, r->fault, row->id, s->id, row->columns[0],
			  (int64_t)seal));
	db_bind(q, 5, row->data);
	TRY(db_run(r->to, q, r->fault));
	tally_add(&r->ledger.tallies[TALLY_CHUNKS], seal);
	return ERR_OK;
}

static enum err copy_block(struct repair *r, struct new_service *s, const struct walk_row *row)
{
	uint64_t seal = seal_block(r->key, row->id, s->id, row->columns, row->data);
	sqlite3_stmt *q;

	TRY(db_query_with(r->to, BLOCK_ADD, &q, r->fault, row->id, s->id, row->columns[0],
			  row->columns[1], row->columns[2], row->columns[3], (int64_t)seal));
	db_bind(q, 8, row->data);
	TRY(db_run(r->to, q, r->fault));
	tally_add(&s->tallies[TALLY_BLOCKS], seal);
	return ERR_OK;
}

static enum err copy_good_row(struct repair *r, const struct walk_row *row)
{
	struct new_service *s = row->service ? service_of(r, row->service->id) : NULL;

	if (row->kind == WALK_SERVICE)
		return copy_service(r, row);
	if (!s)
		return ERR_OK;
	switch (row->kind) {
	case WALK_DICTIONARY:
		return copy_dictionary(r, s, row);
	case WALK_CHUNK:
		return copy_chunk(r, s, row);
	case WALK_BLOCK:
		return copy_block(r, s, row);
	default:
		/* The keeper rebuilds roll-ups and measured lengths. */
		return ERR_OK;
	}
}

/* A scan of a damaged table may return a row twice. */
static enum err copy_row(void *context, const struct walk_row *row)
{
	enum err error = copy_good_row(context, row);

	return error == ERR_EXISTS ? ERR_OK : error;
}

/* Makes the keeper measure the lengths of profiles again, as in files before version 2. */
static enum err mark_unmeasured(struct repair *r)
{
	uint64_t seal = seal_reach(r->key, 0, 0, 0);

	tally_add(&r->ledger.tallies[TALLY_MARKS], seal);
	return db_run_with(r->to, REACH_PUT, r->fault, 0, 0, 0, (int64_t)seal);
}

static enum err finish_services(struct repair *r)
{
	vec_for_each (s, &r->services) {
		uint8_t tallies[SERVICE_TALLIES * TALLY_BYTES];
		uint64_t seal = seal_service(r->key, s->id, str_of(s->name), s->series, s->tallies);
		sqlite3_stmt *q;

		tally_write(s->tallies, SERVICE_TALLIES, tallies);
		tally_add(&r->ledger.tallies[TALLY_SERVICES], seal);
		TRY(db_query_with(r->to, SERVICE_PUT, &q, r->fault, s->series));
		db_bind(q, 2, str_n((const char *)tallies, sizeof(tallies)));
		sqlite3_bind_int64(q, 3, (int64_t)seal);
		sqlite3_bind_int64(q, 4, s->id);
		TRY(db_run(r->to, q, r->fault));
	}
	TRY(mark_unmeasured(r));
	/* Make the keeper rebuild the series index, too. */
	return db_run_numbers(r->to, INDEX_UNMARK, NULL, 0, r->fault);
}

/* ------------------------------------------------------------------ new spans, a new catalog */

static enum err copy_name(struct repair *r, struct str text, int64_t *ret)
{
	uint64_t seal = seal_name(r->key, text);
	sqlite3_stmt *q;
	bool row;

	TRY(db_statement(r->to, NAME_FIND, &q, r->fault));
	db_bind(q, 1, text);
	TRY(db_step(r->to, q, &row, r->fault));
	*ret = row ? sqlite3_column_int64(q, 0) : 0;
	db_reset(q);
	if (*ret)
		return ERR_OK;
	TRY(db_statement(r->to, NAME_ADD, &q, r->fault));
	db_bind(q, 1, text);
	sqlite3_bind_int64(q, 2, (int64_t)seal);
	TRY(db_run(r->to, q, r->fault));
	tally_add(&r->ledger.tallies[TALLY_NAMES], seal);
	*ret = sqlite3_last_insert_rowid(r->to->handle);
	return ERR_OK;
}

/* Counts added rows; a row that was found before already exists. */
static enum err added(struct repair *r, enum err error, int tally, uint64_t seal)
{
	if (error == ERR_OK)
		tally_add(&r->ledger.tallies[tally], seal);
	return error == ERR_EXISTS ? ERR_OK : error;
}

static enum err copy_span(void *context, int64_t key, const struct trace_span *span,
			  struct str attributes)
{
	struct repair *r = context;
	uint64_t seal = seal_span(r->key, key, span, attributes);
	int64_t service, operation;
	enum err error;

	if (is_undone(r, DAY_SPANS, row_time_ns(key) / NS_PER_DAY, key))
		return ERR_OK;
	TRY(copy_name(r, span->service, &service));
	TRY(copy_name(r, span->operation, &operation));
	error = span_insert(r->to, key, span, service, operation, attributes, seal, r->fault);
	if (error == ERR_OK)
		spans_count_entries(&r->ledger, key, service,
				    str_n(span->trace_id, sizeof(span->trace_id)));
	return added(r, error, TALLY_SPANS, seal);
}

static enum err copy_setting(void *context, struct str name, struct str value, int64_t modified)
{
	struct repair *r = context;
	uint64_t seal = seal_setting(r->key, name, value, modified);
	sqlite3_stmt *q;

	TRY(db_statement(r->to, SETTING_PUT, &q, r->fault));
	db_bind(q, 1, name);
	db_bind(q, 2, value);
	sqlite3_bind_int64(q, 3, modified);
	sqlite3_bind_int64(q, 4, (int64_t)seal);
	return added(r, db_run(r->to, q, r->fault), TALLY_SETTINGS, seal);
}

static enum err copy_audit(void *context, int64_t time, struct str event, struct str detail)
{
	struct repair *r = context;
	uint64_t seal = seal_audit(r->key, time, event, detail);
	sqlite3_stmt *q;

	tally_add(&r->ledger.tallies[TALLY_AUDIT], seal);
	TRY(db_query_with(r->to, AUDIT_ADD, &q, r->fault, time));
	db_bind(q, 2, event);
	db_bind(q, 3, detail);
	sqlite3_bind_int64(q, 4, (int64_t)seal);
	return db_run(r->to, q, r->fault);
}

static enum err copy_undo(void *context, struct str note, bool sealed)
{
	struct repair *r = context;
	uint64_t seal = seal_end(seal_text(seal_begin(r->key, SEALED_UNDO), note));
	sqlite3_stmt *q;

	/* Notes written before seals existed have another form; skip them. */
	if (!sealed)
		return ERR_OK;
	tally_add(&r->ledger.tallies[TALLY_UNDO], seal);
	TRY(db_statement(r->to, UNDO_ADD, &q, r->fault));
	db_bind(q, 1, note);
	sqlite3_bind_int64(q, 2, (int64_t)seal);
	return db_run(r->to, q, r->fault);
}

/* ------------------------------------------------------------------ one file */

void repair_ignore_bad(void *context, const char *text, const struct walk_loss *loss)
{
	(void)context, (void)text, (void)loss;
}

static enum err copy_all(struct repair *r, const struct target *t, struct walk *w)
{
	struct catalog_rows rows = {copy_setting, copy_audit, NULL, copy_undo, r};
	enum err error;

	if (t->schema == &catalog_schema)
		return walk_catalog(w, &rows);
	if (t->schema == &spans_schema)
		return walk_spans(w, copy_span, r);
	w->good = copy_row;
	error = walk_day(w);
	return error == ERR_OK ? finish_services(r) : error;
}

static enum err begin_copy(struct repair *r, const struct target *t, const char *path)
{
	struct day_setup setup = {.place = t->place};
	struct db_setup hook = {day_set_up, &setup};

	TRY(repair_remove(r, path));
	TRY(db_open_with(path, t->schema, DB_CREATE, &hook, &r->to, r->fault));
	TRY(ledger_read(r->to, t->place, &r->ledger, r->fault));
	r->key = file_key(t->place, r->ledger.file);
	return db_begin(r->to, true, r->fault);
}

/* Copies the intact rows to a new file. */
enum err repair_copy(struct repair *r, const struct target *t, const char *path, bool *ret_any)
{
	CLEANUP(buf_release) struct buf old = BUF_INIT(OUTPUT_PATH_MAX);
	struct walk w = {.place = t->place,
			 .seed = r->seed,
			 .day = t->day,
			 .bad = repair_ignore_bad,
			 .context = r};
	enum err error = repair_path(r, &old, "%s", t->name);

	w.path = old.data;
	if (error == ERR_OK)
		error = begin_copy(r, t, path);
	if (error == ERR_OK)
		error = copy_all(r, t, &w);
	/* Leave files of a newer vestal alone, which this one cannot read. */
	if (error == ERR_OK && w.newer)
		error = fault_set(r->fault, ERR_UNSUPPORTED, "%s", w.fault.text);
	if (error != ERR_OK && r->fault && !r->fault->code)
		*r->fault = w.fault;
	walk_release(&w);
	*ret_any = t->schema == &catalog_schema;
	for (int i = 0; i < LEDGER_TALLIES; i++)
		*ret_any |= r->ledger.tallies[i].n > (i == TALLY_MARKS);
	r->ledger.commits = 1;
	if (error == ERR_OK)
		error = ledger_write(r->to, t->place, &r->ledger, r->fault);
	if (error == ERR_OK)
		error = db_commit(r->to, r->fault);
	db_close(r->to);
	r->to = NULL;
	vec_for_each (s, &r->services)
		mem_free(s->name);
	vec_release(&r->services);
	return error;
}
