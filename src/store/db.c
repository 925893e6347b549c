#include "store/db.h"

#include <errno.h>
#include <stdio.h>

#include "base/alloc.h"
#include "store/db_kept.h"

#define BUSY_MS 10000

static enum err code_of(int rc)
{
	switch (rc & 0xff) {
	case SQLITE_OK:
	case SQLITE_ROW:
	case SQLITE_DONE:
		return ERR_OK;
	case SQLITE_NOMEM:
		return ERR_NO_MEMORY;
	case SQLITE_FULL:
		return ERR_NO_SPACE;
	case SQLITE_IOERR:
		if (rc == SQLITE_IOERR_SHORT_READ || rc == SQLITE_IOERR_CORRUPTFS)
			return ERR_DAMAGED;
		return rc == SQLITE_IOERR_NOMEM ? ERR_NO_MEMORY : ERR_IO;
	case SQLITE_CANTOPEN:
		return ERR_IO;
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
	/* Nothing that large was written, so a damaged row has a wrong size. */
	case SQLITE_TOOBIG:
		return ERR_DAMAGED;
	case SQLITE_PERM:
	case SQLITE_AUTH:
		return ERR_NO_PERMISSION;
	case SQLITE_READONLY:
		return ERR_UNAVAILABLE;
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return ERR_TIMEOUT;
	case SQLITE_INTERRUPT:
		return ERR_CANCELLED;
	case SQLITE_CONSTRAINT:
		return ERR_EXISTS;
	default:
		return ERR_INTERNAL;
	}
}

static enum err code_of_errno(int os)
{
	switch (os) {
	case ENOSPC:
	case EDQUOT:
		return ERR_NO_SPACE;
	case EROFS:
		return ERR_UNAVAILABLE;
	default:
		return ERR_IO;
	}
}

static enum err failed(const char *path, sqlite3 *handle, int rc, struct fault *fault)
{
	enum err code = code_of(rc);

	/* A disk without room shows itself as a failed write, or as a file that cannot be made. */
	if (code == ERR_IO && handle)
		code = code_of_errno(sqlite3_system_errno(handle));
	if (code == ERR_OK)
		return ERR_OK;
	return fault_set(fault, code, "%s: %s", path,
			 handle && sqlite3_errcode(handle) == (rc & 0xff) ? sqlite3_errmsg(handle)
									  : sqlite3_errstr(rc));
}

static enum err db_failed(const struct db *db, int rc, struct fault *fault)
{
	return failed(db->path, db->handle, rc, fault);
}

/* For the fixed texts of this folder. */
static enum err db_exec(struct db *db, const char *sql, struct fault *fault)
{
	return db_failed(db, sqlite3_exec(db->handle, sql, NULL, NULL, NULL), fault);
}

static enum err pragma_read(struct db *db, const char *sql, int64_t *ret, struct fault *fault)
{
	sqlite3_stmt *q = NULL;
	int rc = sqlite3_prepare_v2(db->handle, sql, -1, &q, NULL);

	if (rc == SQLITE_OK)
		rc = sqlite3_step(q);
	if (rc == SQLITE_ROW)
		*ret = sqlite3_column_int64(q, 0);
	else if (rc == SQLITE_DONE)
		rc = SQLITE_CORRUPT;
	/* Nothing is wrong with the statement, so it is the schema. */
	if ((rc & 0xff) == SQLITE_ERROR)
		rc = SQLITE_CORRUPT;
	sqlite3_finalize(q);
	return rc == SQLITE_ROW ? ERR_OK : db_failed(db, rc, fault);
}

/* ------------------------------------------------------------------ opening */

static enum err set_version(struct db *db, struct fault *fault)
{
	char sql[120];

	snprintf(sql, sizeof(sql), "PRAGMA application_id = %d; PRAGMA user_version = %d",
		 DB_APPLICATION, db->schema->version);
	return db_exec(db, sql, fault);
}

static enum err create_tables(struct db *db, struct fault *fault)
{
	enum err error;

	/* Both only take effect on a file without tables, and the first not in WAL. */
	TRY(db_exec(db, "PRAGMA page_size = 16384; PRAGMA auto_vacuum = INCREMENTAL", fault));
	TRY(db_exec(db, "PRAGMA journal_mode = WAL", fault));
	TRY(db_begin(db, true, fault));
	error = db_exec(db, db->schema->create, fault);
	db->version = db->schema->version;
	if (error == ERR_OK && db->setup)
		error = db->setup->run(db->setup->context, db, 0, fault);
	if (error == ERR_OK)
		error = set_version(db, fault);
	if (error == ERR_OK)
		error = db_commit(db, fault);
	if (error != ERR_OK)
		db_rollback(db);
	return error;
}

static enum err upgrade(struct db *db, int64_t from, struct fault *fault)
{
	enum err error = db_begin(db, true, fault);

	for (int64_t v = from; error == ERR_OK && v < db->schema->version; v++)
		error = db_exec(db, db->schema->upgrade[v - 1], fault);
	db->version = db->schema->version;
	if (error == ERR_OK && db->setup)
		error = db->setup->run(db->setup->context, db, from, fault);
	if (error == ERR_OK)
		error = set_version(db, fault);
	if (error == ERR_OK)
		error = db_commit(db, fault);
	if (error != ERR_OK)
		db_rollback(db);
	return error;
}

static enum err check_version(struct db *db, enum db_mode mode, struct fault *fault)
{
	int64_t application = 0, version = 0, tables = 0;

	TRY(pragma_read(db, "PRAGMA application_id", &application, fault));
	TRY(pragma_read(db, "PRAGMA user_version", &version, fault));
	TRY(pragma_read(db, "SELECT count(*) FROM sqlite_schema", &tables, fault));
	if (!application && !version && !tables) {
		/* The first transaction of its life never ended. */
		if (mode != DB_READ)
			return create_tables(db, fault);
		return fault_set(fault, ERR_NOT_FOUND, "%s is empty", db->path);
	}
	if (application != DB_APPLICATION)
		return fault_set(fault, ERR_DAMAGED, "%s is not a %s file of Vestal", db->path,
				 db->schema->name);
	if (version > db->schema->version)
		return fault_set(fault, ERR_UNSUPPORTED,
				 "%s has format version %lld, this vestal reads up to %d: use the "
				 "newer vestal that wrote it",
				 db->path, (long long)version, db->schema->version);
	if (version < 1)
		return fault_set(fault, ERR_DAMAGED, "%s has no valid format version", db->path);
	db->version = version;
	if (version < db->schema->version && mode != DB_READ)
		return upgrade(db, version, fault);
	return ERR_OK;
}

static enum err prepare_connection(struct db *db, enum db_mode mode, struct fault *fault)
{
	sqlite3_extended_result_codes(db->handle, 1);
	sqlite3_busy_timeout(db->handle, BUSY_MS);
	/* The file may come from an untrusted backup: do not trust its schema. */
	sqlite3_db_config(db->handle, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_db_config(db->handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	TRY(db_exec(db,
		    "PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 64; "
		    "PRAGMA cell_size_check = ON; PRAGMA temp_store = MEMORY; "
		    /* Overwrite deleted data where that costs nothing. */
		    "PRAGMA secure_delete = FAST",
		    fault));
	TRY(db_exec(db, mode == DB_READ ? "PRAGMA cache_size = -512" : "PRAGMA cache_size = -2048",
		    fault));
	/* Do not checkpoint on close when reading only: `vestal check` must change nothing. */
	if (mode == DB_READ)
		sqlite3_db_config(db->handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
	/* This also reads the file: before, the connection would not know that it is in WAL. */
	TRY(check_version(db, mode, fault));
	return mode == DB_READ ? db_exec(db, "PRAGMA query_only = 1", fault) : ERR_OK;
}

enum err db_open(const char *path, const struct db_schema *schema, enum db_mode mode,
		 struct db **ret, struct fault *fault)
{
	return db_open_with(path, schema, mode, NULL, ret, fault);
}

enum err db_open_with(const char *path, const struct db_schema *schema, enum db_mode mode,
		      const struct db_setup *setup, struct db **ret, struct fault *fault)
{
	int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX;
	struct db *db =
		mem_zalloc(1, sizeof(*db) + schema->statement_count * sizeof(sqlite3_stmt *));
	enum err error = ERR_NO_MEMORY;
	int rc;

	if (!db)
		return ERR_NO_MEMORY;
	db->schema = schema;
	db->setup = setup;
	db->path = mem_strdup(path);
	if (!db->path)
		goto fail;
	if (mode == DB_CREATE)
		flags |= SQLITE_OPEN_CREATE;
	rc = sqlite3_open_v2(path, &db->handle, flags, db_vfs_for(path));
	error = db_failed(db, rc, fault);
	if (error == ERR_OK)
		error = prepare_connection(db, mode, fault);
	if (error != ERR_OK)
		goto fail;
	db->setup = NULL;
	*ret = db;
	return ERR_OK;
fail:
	db_close(db);
	return error;
}

void db_close(struct db *db)
{
	if (!db)
		return;
	for (unsigned i = 0; i < db->schema->statement_count; i++)
		sqlite3_finalize(db->statements[i]);
	for (unsigned i = 0; i < DB_TRANSACTIONS_; i++)
		sqlite3_finalize(db->transactions[i]);
	sqlite3_close_v2(db->handle);
	mem_free(db->path);
	mem_free(db);
}

/* ------------------------------------------------------------------ statements */

enum err db_statement(struct db *db, unsigned which, sqlite3_stmt **ret, struct fault *fault)
{
	const struct db_schema *s = db->schema;

	if (!db->statements[which]) {
		const char *sql = db->version < s->older_below && s->older[which]
					  ? s->older[which]
					  : s->statements[which];
		int rc = sqlite3_prepare_v3(db->handle, sql, -1, SQLITE_PREPARE_PERSISTENT,
					    &db->statements[which], NULL);

		TRY(db_failed(db, rc, fault));
	}
	*ret = db->statements[which];
	return ERR_OK;
}

void db_reset(sqlite3_stmt *q)
{
	sqlite3_reset(q);
	sqlite3_clear_bindings(q);
}

enum err db_step(struct db *db, sqlite3_stmt *q, bool *ret_row, struct fault *fault)
{
	int rc = sqlite3_step(q);
	enum err error;

	if (rc == SQLITE_ROW || rc == SQLITE_DONE) {
		*ret_row = rc == SQLITE_ROW;
		return ERR_OK;
	}
	/* Get the message before the reset, which clears it. */
	error = db_failed(db, rc, fault);
	db_reset(q);
	return error;
}

enum err db_run(struct db *db, sqlite3_stmt *q, struct fault *fault)
{
	bool row = true;
	enum err error = ERR_OK;

	while (error == ERR_OK && row)
		error = db_step(db, q, &row, fault);
	db_reset(q);
	return error;
}

void db_bind(sqlite3_stmt *q, int parameter, struct str bytes)
{
	sqlite3_bind_blob64(q, parameter, bytes.n ? bytes.p : "", bytes.n, SQLITE_STATIC);
}

struct str db_column(sqlite3_stmt *q, int column)
{
	const void *p = sqlite3_column_blob(q, column);

	return str_n(p, (size_t)sqlite3_column_bytes(q, column));
}

/* ------------------------------------------------------------------ transactions */

/* Prepared once: a query over all services runs a transaction per service. */
static enum err run_transaction(struct db *db, enum db_transaction which, struct fault *fault)
{
	static const char *const texts[DB_TRANSACTIONS_] = {
		[DB_BEGIN] = "BEGIN",
		[DB_BEGIN_WRITE] = "BEGIN IMMEDIATE",
		[DB_COMMIT] = "COMMIT",
		[DB_ROLLBACK] = "ROLLBACK",
	};
	sqlite3_stmt **q = &db->transactions[which];
	int rc = SQLITE_OK;

	if (!*q)
		rc = sqlite3_prepare_v3(db->handle, texts[which], -1, SQLITE_PREPARE_PERSISTENT, q,
					NULL);
	if (rc == SQLITE_OK) {
		sqlite3_step(*q);
		rc = sqlite3_reset(*q);
	}
	return db_failed(db, rc, fault);
}

enum err db_begin(struct db *db, bool write, struct fault *fault)
{
	TRY(run_transaction(db, write ? DB_BEGIN_WRITE : DB_BEGIN, fault));
	db->in_transaction = true;
	return ERR_OK;
}

enum err db_begin_snapshot(struct db *db, struct fault *fault)
{
	int64_t tables;

	TRY(db_begin(db, false, fault));
	/* A transaction sees what was there when it first read. */
	return pragma_read(db, "SELECT count(*) FROM sqlite_schema", &tables, fault);
}

enum err db_commit(struct db *db, struct fault *fault)
{
	enum err error = run_transaction(db, DB_COMMIT, fault);

	if (error != ERR_OK)
		db_rollback(db);
	db->in_transaction = false;
	return error;
}

void db_rollback(struct db *db)
{
	if (!db->in_transaction)
		return;
	/* SQLite may have rolled back by itself; a failure here leaves nothing to undo. */
	if (!sqlite3_get_autocommit(db->handle))
		(void)!run_transaction(db, DB_ROLLBACK, NULL);
	db->in_transaction = false;
}

/* ------------------------------------------------------------------ whole files */

enum err db_vacuum(struct db *db, int pages, int64_t *ret_left, struct fault *fault)
{
	char sql[64];

	snprintf(sql, sizeof(sql), "PRAGMA incremental_vacuum(%d)", pages);
	TRY(db_exec(db, sql, fault));
	return pragma_read(db, "PRAGMA freelist_count", ret_left, fault);
}

enum err db_checkpoint(struct db *db, struct fault *fault)
{
	int rc =
		sqlite3_wal_checkpoint_v2(db->handle, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);

	/* Readers that stand in the way are no failure: the next one gets further. */
	if ((rc & 0xff) == SQLITE_BUSY || (rc & 0xff) == SQLITE_LOCKED)
		return ERR_OK;
	return db_failed(db, rc, fault);
}

enum err db_used_bytes(struct db *db, uint64_t *ret, struct fault *fault)
{
	int64_t pages = 0, unused = 0, size = 0;

	TRY(pragma_read(db, "PRAGMA page_count", &pages, fault));
	TRY(pragma_read(db, "PRAGMA freelist_count", &unused, fault));
	TRY(pragma_read(db, "PRAGMA page_size", &size, fault));
	*ret = (uint64_t)(pages - unused) * (uint64_t)size;
	return ERR_OK;
}

enum err db_integrity(struct db *db, void (*each)(void *context, const char *problem),
		      void *context, struct fault *fault)
{
	sqlite3_stmt *q = NULL;
	int rc = sqlite3_prepare_v2(db->handle, "PRAGMA integrity_check", -1, &q, NULL);

	while (rc == SQLITE_OK || rc == SQLITE_ROW) {
		char problem[600];
		const char *text;

		rc = sqlite3_step(q);
		text = rc == SQLITE_ROW ? (const char *)sqlite3_column_text(q, 0) : NULL;
		if (!text || strcmp(text, "ok") == 0)
			continue;
		snprintf(problem, sizeof(problem), "%s: %s", db->path, text);
		each(context, problem);
	}
	if (rc == SQLITE_DONE)
		rc = SQLITE_OK;
	enum err error = db_failed(db, rc, fault);

	sqlite3_finalize(q);
	return error;
}

enum err db_copy(struct db *db, const char *path, struct fault *fault)
{
	sqlite3 *copy = NULL;
	sqlite3_backup *backup = NULL;
	enum err error;
	int rc = sqlite3_open_v2(path, &copy,
				 SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
				 db_vfs_for(path));

	if (rc == SQLITE_OK)
		backup = sqlite3_backup_init(copy, "main", db->handle, "main");
	if (rc == SQLITE_OK)
		rc = backup ? sqlite3_backup_step(backup, -1) : sqlite3_errcode(copy);
	if (backup && sqlite3_backup_finish(backup) != SQLITE_OK && rc == SQLITE_DONE)
		rc = sqlite3_errcode(copy);
	error = failed(path, copy, rc, fault);
	sqlite3_close(copy);
	return error;
}
