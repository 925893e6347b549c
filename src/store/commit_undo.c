/*
 * Batches that span several files. SQLite makes transactions atomic per file only. So the keys of
 * all rows are recorded in the catalog before they are written, and the record is deleted when all
 * are committed. A leftover record belongs to a batch that was never acknowledged: its rows are
 * deleted.
 *
 *	record: per row kind, day, key, seal, as varints; before catalog version 2 without seal
 *
 * The seal distinguishes the row from a later one with the same key.
 */
#include "store/catalog.h"
#include "store/change.h"
#include "store/varint.h"

static enum err encode_note(const struct undo_list *list, struct buf *out)
{
	vec_for_each (row, &list->rows) {
		put_varint(out, row->file.kind);
		put_varint(out, (uint64_t)row->file.day);
		put_varint(out, (uint64_t)row->key);
		put_varint(out, row->seal);
	}
	return buf_error(out);
}

static enum err add_note(struct catalog_change *c, struct str note, int64_t *ret_id,
			 struct fault *fault)
{
	uint64_t seal = seal_begin(catalog_key(c->tenant), SEALED_UNDO);
	sqlite3_stmt *q;

	seal = seal_end(seal_text(seal, note));
	TRY(db_statement(c->db, UNDO_ADD, &q, fault));
	db_bind(q, 1, note);
	sqlite3_bind_int64(q, 2, (int64_t)seal);
	TRY(db_run(c->db, q, fault));
	tally_add(&c->tenant->ledger.tallies[TALLY_UNDO], seal);
	*ret_id = sqlite3_last_insert_rowid(c->db->handle);
	return ERR_OK;
}

enum err undo_begin(struct tenant *t, const struct undo_list *list, int64_t *ret_id,
		    struct fault *fault)
{
	CLEANUP(buf_release) struct buf note = BUF_INIT(SIZE_MAX);
	struct catalog_change c;
	int64_t id = 0;
	enum err error;

	TRY(encode_note(list, &note));
	TRY(catalog_begin(&c, t, fault));
	error = add_note(&c, buf_view(&note), &id, fault);
	error = catalog_end(&c, error, fault);
	if (error == ERR_OK)
		*ret_id = id;
	return error;
}

enum err undo_end(struct tenant *t, int64_t id, struct fault *fault)
{
	struct catalog_change c;
	sqlite3_stmt *q;
	enum err error;

	TRY(catalog_begin(&c, t, fault));
	error = db_query_with(c.db, UNDO_DELETE, &q, fault, id);
	if (error == ERR_OK)
		error = catalog_take(&c, TALLY_UNDO, q, fault);
	return catalog_end(&c, error, fault);
}

/* ------------------------------------------------------------------ taking back */

/* Whether the row is the one in the record. */
static enum err is_there(struct change *c, const struct undo_row *row, bool *ret,
			 struct fault *fault)
{
	bool spans = row->file.kind == DAY_SPANS, found;
	sqlite3_stmt *q;
	enum err error;

	if (spans)
		TRY(db_query_with(c->writer, SPAN_ALL, &q, fault, row->key, row->key + 1));
	else
		TRY(db_query_with(c->writer, CHUNK_GET, &q, fault, row->key));
	error = db_step(c->writer, q, &found, fault);
	if (error == ERR_OK)
		*ret = found && (!row->seal ||
				 row->seal == (uint64_t)sqlite3_column_int64(q, spans ? 11 : 4));
	db_reset(q);
	return error;
}

/* Deletes one row, in its own transaction, since this is rare. */
static enum err take_back(struct tenant *t, const struct undo_row *row, struct fault *fault)
{
	bool spans = row->file.kind == DAY_SPANS, there = false;
	struct change c;
	struct day *d;
	enum err error = day_get(t, row->file, false, &d, fault);

	if (error == ERR_NOT_FOUND)
		return ERR_OK;
	TRY(error);
	error = change_begin(&c, d, fault);
	if (error == ERR_OK) {
		error = is_there(&c, row, &there, fault);
		if (error == ERR_OK && there)
			error = change_take_with(&c, NULL, spans ? TALLY_SPANS : TALLY_CHUNKS,
						 spans ? (unsigned)SPAN_DELETE
						       : (unsigned)CHUNK_DELETE,
						 fault, row->key);
		error = change_end(&c, error, fault);
	}
	/* The chunk was already loaded with the day: remove it there, too. */
	for (size_t i = 0; error == ERR_OK && !spans; i++) {
		struct day_service *ds = day_service_at(d, i);

		if (!ds)
			break;
		day_service_remove_fresh(ds, &row->key, 1);
	}
	if (error == ERR_OK && spans)
		atomic_store(&d->spans_counted, false);
	day_put(d);
	return error;
}

static enum err take_back_all(struct tenant *t, struct str note, bool sealed, struct fault *fault)
{
	struct cursor c = cursor_of(note);

	while (c.p < c.end) {
		struct undo_row row = {0};

		row.file.kind = (enum day_kind)get_bounded(&c, DAY_KINDS_ - 1);
		row.file.day = (int64_t)get_varint(&c);
		row.key = (int64_t)get_varint(&c);
		if (sealed)
			row.seal = get_varint(&c);
		if (c.bad)
			return fault_set(fault, ERR_DAMAGED, "%s: the catalog is damaged",
					 t->folder);
		TRY(take_back(t, &row, fault));
	}
	return ERR_OK;
}

/* Copies the oldest record, so that no day is accessed while the catalog is locked. */
static enum err next_note(struct tenant *t, struct buf *note, int64_t *ret_id, bool *ret_sealed,
			  struct fault *fault)
{
	sqlite3_stmt *q = NULL;
	struct db *catalog;
	bool row = false;
	enum err error;

	*ret_id = 0;
	TRY(tenant_catalog(t, &catalog, fault));
	error = db_statement(catalog, UNDO_ALL, &q, fault);
	if (error == ERR_OK && (error = db_step(catalog, q, &row, fault)) == ERR_OK && row) {
		uint64_t seal = (uint64_t)sqlite3_column_int64(q, 2);
		struct str bytes = db_column(q, 1);

		*ret_sealed = seal != 0;
		if (seal &&
		    seal != seal_end(seal_text(seal_begin(catalog_key(t), SEALED_UNDO), bytes)))
			error = fault_set(fault, ERR_DAMAGED, "%s: the catalog is damaged",
					  t->folder);
		*ret_id = sqlite3_column_int64(q, 0);
		buf_str(note, bytes);
		if (error == ERR_OK)
			error = buf_error(note);
	}
	if (q)
		db_reset(q);
	mutex_unlock(&t->catalog_lock);
	return error;
}

enum err undo_recover(struct tenant *t, struct fault *fault)
{
	CLEANUP(buf_release) struct buf note = BUF_INIT(SIZE_MAX);
	enum err error = ERR_OK;
	bool sealed = false;
	int64_t id = 1;

	while (error == ERR_OK) {
		buf_clear(&note);
		error = next_note(t, &note, &id, &sealed, fault);
		if (error != ERR_OK || !id)
			break;
		error = take_back_all(t, buf_view(&note), sealed, fault);
		if (error == ERR_OK)
			error = undo_end(t, id, fault);
	}
	return error;
}
