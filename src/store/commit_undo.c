/*
 * Batches over several files. SQLite makes one file whole after a crash, not several together; so
 * the keys of the rows are noted in the catalog before any file has them, and the note is taken
 * away when all have. A note that is still there belongs to a batch that nobody was told is stored:
 * its rows go.
 *
 *	note: per row kind, day, key, as varints
 */
#include <unistd.h>

#include "store/embedded.h"
#include "store/varint.h"

enum err undo_begin(struct tenant *t, const struct undo_list *list, int64_t *ret_id,
		    struct fault *fault)
{
	struct buf note = BUF_INIT(SIZE_MAX);
	struct db *catalog;
	sqlite3_stmt *q;
	enum err error;

	vec_for_each (row, &list->rows) {
		put_varint(&note, row->file.kind);
		put_varint(&note, (uint64_t)row->file.day);
		put_varint(&note, (uint64_t)row->key);
	}
	error = buf_error(&note);
	if (error == ERR_OK)
		error = tenant_catalog(t, &catalog, fault);
	if (error != ERR_OK) {
		buf_release(&note);
		return error;
	}
	error = db_statement(catalog, UNDO_ADD, &q, fault);
	if (error == ERR_OK) {
		db_bind(q, 1, buf_view(&note));
		error = db_run(catalog, q, fault);
	}
	if (error == ERR_OK)
		*ret_id = sqlite3_last_insert_rowid(catalog->handle);
	mutex_unlock(&t->catalog_lock);
	buf_release(&note);
	return error;
}

enum err undo_end(struct tenant *t, int64_t id, struct fault *fault)
{
	struct db *catalog;
	enum err error;

	TRY(tenant_catalog(t, &catalog, fault));
	error = db_run_with(catalog, UNDO_DELETE, fault, id);
	mutex_unlock(&t->catalog_lock);
	return error;
}

/* One row, in a connection of its own: this is rare. */
static enum err take_back(const char *tenant_path, struct undo_row row, struct fault *fault)
{
	char *path = day_path(tenant_path, row.file);
	bool spans = row.file.kind == DAY_SPANS;
	struct db *db = NULL;
	enum err error = path ? ERR_OK : ERR_NO_MEMORY;

	if (error == ERR_OK && access(path, F_OK) == 0) {
		error = db_open(path, spans ? &spans_schema : &day_schema, DB_WRITE, &db, fault);
		if (error == ERR_OK)
			error = db_run_with(db, spans ? SPAN_DELETE : CHUNK_DELETE, fault, row.key);
		db_close(db);
	}
	mem_free(path);
	return error;
}

static enum err take_back_all(const char *tenant_path, struct str note, struct fault *fault)
{
	struct cursor c = cursor_of(note);

	while (c.p < c.end) {
		struct undo_row row;

		row.file.kind = (enum day_kind)get_bounded(&c, DAY_KINDS_ - 1);
		row.file.day = (int64_t)get_varint(&c);
		row.key = (int64_t)get_varint(&c);
		if (c.bad)
			return fault_set(fault, ERR_CORRUPT, "%s: the catalog is damaged",
					 tenant_path);
		TRY(take_back(tenant_path, row, fault));
	}
	return ERR_OK;
}

enum err undo_recover(const char *tenant_path, struct db *catalog, struct fault *fault)
{
	enum err error = ERR_OK;
	bool row = true;

	while (error == ERR_OK && row) {
		sqlite3_stmt *q;
		int64_t id = 0;

		TRY(db_statement(catalog, UNDO_ALL, &q, fault));
		error = db_step(catalog, q, &row, fault);
		if (error == ERR_OK && row) {
			id = sqlite3_column_int64(q, 0);
			error = take_back_all(tenant_path, db_column(q, 1), fault);
		}
		db_reset(q);
		if (error == ERR_OK && row)
			error = db_run_with(catalog, UNDO_DELETE, fault, id);
	}
	return error;
}
