#include "store/day_sql.h"

/* How long the longest profile lasts of those that start in a window, where it is longer than
 * usual; in milliseconds. A row of service 0: what was there before version 2 was not looked at. */
#define REACHES_TABLE                                                       \
	"CREATE TABLE reaches(service INTEGER NOT NULL, window INTEGER NOT" \
	" NULL, longest INTEGER NOT NULL, PRIMARY KEY(service, window))"    \
	" WITHOUT ROWID;"

/* Which series there are, without the dictionaries. Files of older versions have no such table: it
 * is made when one is opened for writing, and its rows when the keeper has time. */
#define INDEX_TABLE_IF_MISSING                                            \
	"CREATE TABLE IF NOT EXISTS series_index(id INTEGER PRIMARY KEY," \
	" data BLOB NOT NULL);"

static const char day_tables[] =
	"CREATE TABLE services(id INTEGER PRIMARY KEY, name BLOB NOT NULL UNIQUE,"
	" series INTEGER NOT NULL);"
	"CREATE TABLE dictionary(id INTEGER PRIMARY KEY, data BLOB NOT NULL);"
	"CREATE TABLE chunks(id INTEGER PRIMARY KEY, service INTEGER NOT NULL, rows INTEGER NOT "
	"NULL,"
	" data BLOB NOT NULL);"
	"CREATE TABLE blocks(id INTEGER PRIMARY KEY, service INTEGER NOT NULL,"
	" profiles INTEGER NOT NULL, rows INTEGER NOT NULL, first INTEGER NOT NULL,"
	" last INTEGER NOT NULL, data BLOB NOT NULL);"
	"CREATE INDEX blocks_of_service ON blocks(service, id, profiles, rows, first, last);"
	"CREATE TABLE rollups(id INTEGER PRIMARY KEY, service INTEGER NOT NULL,"
	" level INTEGER NOT NULL, start INTEGER NOT NULL, data BLOB NOT NULL);"
	"CREATE UNIQUE INDEX rollups_of_service ON rollups(service, level, start);" REACHES_TABLE
		INDEX_TABLE_IF_MISSING "INSERT INTO series_index VALUES (0, x'');";

/* What was rolled up did not say what lies beyond; what is in the file is yet to be measured. */
static const char *const day_upgrades[] = {
	REACHES_TABLE "INSERT INTO reaches VALUES (0, 0, 0);"
		      "DELETE FROM rollups;",
};

static const char *const day_statements[DAY_STATEMENTS_] = {
	[SERVICE_ALL] = "SELECT id, name, series FROM services ORDER BY id",
	[SERVICE_ADD] = "INSERT INTO services(name, series) VALUES (?, 0)",
	[SERVICE_SERIES] = "UPDATE services SET series = ? WHERE id = ?",
	[SERVICE_DELETE] = "DELETE FROM services WHERE id = ?",
	[SERVICE_BYTES] =
		"SELECT (SELECT coalesce(sum(length(data)), 0) FROM blocks WHERE service = ?1)"
		" + (SELECT coalesce(sum(length(data)), 0) FROM chunks WHERE service = ?1)"
		" + (SELECT coalesce(sum(length(data)), 0) FROM rollups WHERE service = ?1)"
		" + (SELECT coalesce(sum(length(data)), 0) FROM dictionary"
		" WHERE id >= ?2 AND id <= ?3)",
	[DICTIONARY_OF] = "SELECT id, data FROM dictionary WHERE id >= ? AND id <= ? ORDER BY id",
	[DICTIONARY_LAST] = "SELECT max(id), count(*) FROM dictionary WHERE id >= ? AND id <= ?",
	[DICTIONARY_ADD] = "INSERT INTO dictionary(id, data) VALUES (?, ?)",
	[DICTIONARY_DELETE] = "DELETE FROM dictionary WHERE id >= ? AND id <= ?",
	[CHUNK_ADD] = "INSERT INTO chunks(id, service, rows, data) VALUES (?, ?, ?, ?)",
	[CHUNK_GET] = "SELECT data FROM chunks WHERE id = ?",
	[CHUNK_DELETE] = "DELETE FROM chunks WHERE id = ?",
	[CHUNK_DELETE_OF] = "DELETE FROM chunks WHERE service = ?",
	[CHUNK_KEYS] = "SELECT id, service, rows FROM chunks ORDER BY id",
	[CHUNK_ALL] = "SELECT id, service, data FROM chunks ORDER BY id",
	[BLOCK_ADD] = "INSERT INTO blocks(id, service, profiles, rows, first, last, data)"
		      " VALUES (?, ?, ?, ?, ?, ?, ?)",
	[BLOCK_RANGE] = "SELECT id, data FROM blocks"
			" WHERE service = ? AND id >= ? AND id < ? ORDER BY id",
	[BLOCK_DELETE] = "DELETE FROM blocks WHERE id = ?",
	[BLOCK_DELETE_OF] = "DELETE FROM blocks WHERE service = ?",
	[BLOCK_KEYS] = "SELECT id, service, profiles FROM blocks INDEXED BY blocks_of_service"
		       " WHERE service >= ? AND service <= ? ORDER BY service, id",
	[BLOCK_COUNT] = "SELECT count(*), sum(profiles), sum(rows), min(first), max(last)"
			" FROM blocks INDEXED BY blocks_of_service",
	[BLOCK_OLDEST] = "SELECT min(id) FROM blocks",
	[BLOCK_BEFORE] = "SELECT id, service FROM blocks WHERE id < ? ORDER BY id",
	[BLOCK_ALL] = "SELECT id, service, data FROM blocks ORDER BY id",
	[ROLLUP_GET] = "SELECT data FROM rollups WHERE service = ? AND level = ? AND start = ?",
	[ROLLUP_PUT] = "INSERT OR REPLACE INTO rollups(service, level, start, data)"
		       " VALUES (?, ?, ?, ?)",
	[ROLLUP_DELETE] = "DELETE FROM rollups WHERE service = ? AND level = ? AND start = ?",
	[ROLLUP_DELETE_OF] = "DELETE FROM rollups WHERE service = ?",
	[ROLLUP_KEYS] = "SELECT level, start FROM rollups WHERE service = ?",
	[ROLLUP_COUNT] = "SELECT count(*) FROM rollups INDEXED BY rollups_of_service",
	[ROLLUP_ALL] = "SELECT id, service, data FROM rollups ORDER BY id",
	[REACH_ALL] = "SELECT service, window, longest FROM reaches ORDER BY service, window",
	[REACH_PUT] = "INSERT INTO reaches VALUES (?, ?, ?) ON CONFLICT DO UPDATE"
		      " SET longest = max(longest, excluded.longest)",
	[INDEX_TABLE] = "SELECT count(*) FROM sqlite_schema WHERE name = 'series_index'",
	[INDEX_ALL] = "SELECT id, data FROM series_index ORDER BY id",
	[INDEX_PUT] = "INSERT OR REPLACE INTO series_index(id, data) VALUES (?, ?)",
	[INDEX_DELETE] = "DELETE FROM series_index WHERE id >= ? AND id <= ?",
	[INDEX_MARK] = "SELECT 1 FROM series_index WHERE id = 0",
	[REACH_DELETE_OF] = "DELETE FROM reaches WHERE service = ?",
};

const struct db_schema day_schema = {
	.name = "day",
	.version = 2,
	.create = day_tables,
	.upgrade = day_upgrades,
	.additions = INDEX_TABLE_IF_MISSING,
	.statements = day_statements,
	.statement_count = DAY_STATEMENTS_,
};

static const char spans_tables[] =
	"CREATE TABLE names(id INTEGER PRIMARY KEY, text BLOB NOT NULL UNIQUE);"
	"CREATE TABLE spans(id INTEGER PRIMARY KEY, trace BLOB NOT NULL, span BLOB NOT NULL,"
	" parent BLOB NOT NULL, kind INTEGER NOT NULL, status INTEGER NOT NULL,"
	" service INTEGER NOT NULL, operation INTEGER NOT NULL, start INTEGER NOT NULL,"
	" duration INTEGER NOT NULL, attributes BLOB NOT NULL);"
	"CREATE INDEX spans_of_trace ON spans(trace);"
	"CREATE INDEX spans_of_service ON spans(service, id);";

#define SPAN_COLUMNS                                                                               \
	"SELECT s.trace, s.span, s.parent, s.kind, s.status, n.text, o.text, s.start, s.duration," \
	" s.attributes FROM spans s JOIN names n ON n.id = s.service"                              \
	" JOIN names o ON o.id = s.operation "

static const char *const spans_statements[SPANS_STATEMENTS_] = {
	[SPAN_ADD] = "INSERT INTO spans(id, trace, span, parent, kind, status, service, operation,"
		     " start, duration, attributes) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
	[SPAN_DELETE] = "DELETE FROM spans WHERE id = ?",
	[SPAN_COUNT] = "SELECT count(*) FROM spans INDEXED BY spans_of_service",
	[SPAN_NEWEST] = SPAN_COLUMNS "WHERE s.id >= ? AND s.id < ? ORDER BY s.id DESC",
	[SPAN_OF_SERVICE] =
		SPAN_COLUMNS "WHERE s.id >= ? AND s.id < ? AND s.service = ? ORDER BY s.id DESC",
	[SPAN_OF_TRACE] =
		SPAN_COLUMNS "WHERE s.id >= ? AND s.id < ? AND s.trace = ? ORDER BY s.id DESC",
	[SPAN_DELETE_BEFORE] = "DELETE FROM spans WHERE id < ?",
	[SPAN_ENDS] = "SELECT (SELECT min(id) FROM spans), (SELECT max(id) FROM spans)",
	[NAME_FIND] = "SELECT id FROM names WHERE text = ?",
	[NAME_ADD] = "INSERT INTO names(text) VALUES (?)",
};

const struct db_schema spans_schema = {
	.name = "spans",
	.version = 1,
	.create = spans_tables,
	.statements = spans_statements,
	.statement_count = SPANS_STATEMENTS_,
};

static const char catalog_tables[] =
	"CREATE TABLE settings(name BLOB PRIMARY KEY, value BLOB NOT NULL,"
	" modified INTEGER NOT NULL);"
	"CREATE TABLE audit(id INTEGER PRIMARY KEY, time INTEGER NOT NULL, event BLOB NOT NULL,"
	" detail BLOB NOT NULL);"
	/* Batches that go into several files, while they do (commit_undo.c). */
	"CREATE TABLE undo(id INTEGER PRIMARY KEY, data BLOB NOT NULL);"
	/* Where a store that was full tries whether it still is. */
	"CREATE TABLE probe(id INTEGER PRIMARY KEY, data BLOB NOT NULL);";

static const char *const catalog_statements[CATALOG_STATEMENTS_] = {
	[SETTING_ALL] = "SELECT name, value, modified FROM settings ORDER BY name",
	[SETTING_PUT] = "INSERT OR REPLACE INTO settings(name, value, modified) VALUES (?, ?, ?)",
	[SETTING_DELETE] = "DELETE FROM settings WHERE name = ?",
	[AUDIT_ADD] = "INSERT INTO audit(time, event, detail) VALUES (?, ?, ?)",
	[UNDO_ALL] = "SELECT id, data FROM undo ORDER BY id",
	[UNDO_ADD] = "INSERT INTO undo(data) VALUES (?)",
	[UNDO_DELETE] = "DELETE FROM undo WHERE id = ?",
	[PROBE_ADD] = "INSERT INTO probe(data) VALUES (zeroblob(262144))",
	[PROBE_DELETE] = "DELETE FROM probe",
};

const struct db_schema catalog_schema = {
	.name = "catalog",
	.version = 1,
	.create = catalog_tables,
	.statements = catalog_statements,
	.statement_count = CATALOG_STATEMENTS_,
};

enum err db_query_numbers(struct db *db, unsigned which, const int64_t *numbers, int n,
			  sqlite3_stmt **ret, struct fault *fault)
{
	TRY(db_statement(db, which, ret, fault));
	for (int i = 0; i < n; i++)
		sqlite3_bind_int64(*ret, i + 1, numbers[i]);
	return ERR_OK;
}

enum err db_run_numbers(struct db *db, unsigned which, const int64_t *numbers, int n,
			struct fault *fault)
{
	sqlite3_stmt *q;

	TRY(db_query_numbers(db, which, numbers, n, &q, fault));
	return db_run(db, q, fault);
}
