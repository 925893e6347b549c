#include "store/day_sql.h"

#include "store/seal.h"

/* The ledger (ledger.h), in every file. */
#define LEDGER_TABLE                                                             \
	"CREATE TABLE ledger(id INTEGER PRIMARY KEY, file INTEGER NOT NULL,"     \
	" commits INTEGER NOT NULL, lost INTEGER NOT NULL, unsealed INTEGER NOT" \
	" NULL, shape INTEGER NOT NULL, tallies BLOB NOT NULL, seal INTEGER NOT NULL);"

#define LEDGER_STATEMENTS                                                                       \
	[LEDGER_GET] = "SELECT file, commits, lost, unsealed, shape, tallies, seal FROM ledger" \
		       " WHERE id = 1",                                                         \
	[LEDGER_PUT] = "INSERT OR REPLACE INTO ledger(id, file, commits, lost, unsealed,"       \
		       " shape, tallies, seal) VALUES (1, ?, ?, ?, ?, ?, ?, ?)",                \
	[SCHEMA_TEXT] = "SELECT type, name, tbl_name, sql FROM sqlite_schema"                   \
			" ORDER BY type, name"

/* The longest profile that starts in a window, if it is longer than usual; in milliseconds. A row
 * of service 0: older profiles, from before version 2, were not examined. */
#define REACHES_TABLE(seal)                                                      \
	"CREATE TABLE reaches(service INTEGER NOT NULL, window INTEGER NOT"      \
	" NULL, longest INTEGER NOT NULL," seal " PRIMARY KEY(service, window))" \
	" WITHOUT ROWID;"

/* The series of a day, without the dictionaries. Its rows are derived from these, so the rows of
 * files before version 3 are not upgraded; the keeper writes new ones. Row 0 has the seal 0 and is
 * in no tally: it only marks that all rows exist. */
#define INDEX_TABLE_SQL                                                                      \
	"CREATE TABLE series_index(id INTEGER PRIMARY KEY, seal INTEGER NOT NULL, data BLOB" \
	" NOT NULL);"
#define BLOCKS_INDEX                                                                   \
	"CREATE INDEX blocks_of_service ON blocks(service, id, profiles, rows, first," \
	" last, seal);"
#define ROLLUPS_INDEX "CREATE INDEX rollups_of_service ON rollups(service, level, start, seal);"

static const char day_tables[] =
	"CREATE TABLE services(id INTEGER PRIMARY KEY, name BLOB NOT NULL UNIQUE,"
	" series INTEGER NOT NULL, tallies BLOB NOT NULL, seal INTEGER NOT NULL);"
	"CREATE TABLE dictionary(id INTEGER PRIMARY KEY, seal INTEGER NOT NULL,"
	" data BLOB NOT NULL);"
	"CREATE TABLE chunks(id INTEGER PRIMARY KEY, service INTEGER NOT NULL, rows INTEGER NOT "
	"NULL,"
	" seal INTEGER NOT NULL, data BLOB NOT NULL);"
	"CREATE TABLE blocks(id INTEGER PRIMARY KEY, service INTEGER NOT NULL,"
	" profiles INTEGER NOT NULL, rows INTEGER NOT NULL, first INTEGER NOT NULL,"
	" last INTEGER NOT NULL, seal INTEGER NOT NULL, data BLOB NOT NULL);" BLOCKS_INDEX
	"CREATE TABLE rollups(id INTEGER PRIMARY KEY, service INTEGER NOT NULL,"
	" level INTEGER NOT NULL, start INTEGER NOT NULL, seal INTEGER NOT NULL,"
	" data BLOB NOT NULL);" ROLLUPS_INDEX REACHES_TABLE(" seal INTEGER NOT NULL,")
		INDEX_TABLE_SQL "INSERT INTO series_index VALUES (0, 0, x'');" LEDGER_TABLE;

/* Adding a column does not rewrite existing rows. */
#define ADD_SEAL(table) "ALTER TABLE " table " ADD COLUMN seal INTEGER NOT NULL DEFAULT 0;"

static const char *const day_upgrades[] = {
	/* Old roll-ups do not store what lies beyond their end: drop them, and have the keeper
	 * measure the lengths of profiles. */
	REACHES_TABLE("") "INSERT INTO reaches VALUES (0, 0, 0);"
			  "DELETE FROM rollups;",
	"ALTER TABLE services ADD COLUMN tallies BLOB NOT NULL DEFAULT x'';" ADD_SEAL("services")
		ADD_SEAL("dictionary") ADD_SEAL("chunks") ADD_SEAL("blocks") ADD_SEAL("rollups")
			ADD_SEAL("reaches") "DROP INDEX blocks_of_service;" BLOCKS_INDEX
					    "DROP INDEX rollups_of_service;" ROLLUPS_INDEX
					    "DROP TABLE IF EXISTS series_index;" INDEX_TABLE_SQL
						    LEDGER_TABLE,
};

#define BLOCK_COLUMNS  "id, service, profiles, rows, first, last"
#define RETURNING_SEAL " RETURNING seal"
/* A pair of statements: select the seals of rows, and delete these. RETURNING would build a
 * temporary table each time. */
#define TAKE(which, table, where)                                                                 \
	[which##_SEALS] = "SELECT seal FROM " table " WHERE " where, [which] =                    \
									     "DELETE FROM " table \
									     " WHERE " where

static const char *const day_statements[DAY_STATEMENTS_] = {
	LEDGER_STATEMENTS,
	[SERVICE_ALL] = "SELECT id, name, series, tallies, seal FROM services ORDER BY id",
	[SERVICE_GET] = "SELECT id, name, series, tallies, seal FROM services WHERE id = ?",
	[SERVICE_ADD] = "INSERT INTO services(name, series, tallies, seal) VALUES (?, 0, x'', 0)",
	[SERVICE_PUT] = "UPDATE services SET series = ?, tallies = ?, seal = ? WHERE id = ?",
	[SERVICE_DELETE] = "DELETE FROM services WHERE id = ?",
	[SERVICE_BYTES] =
		"SELECT (SELECT coalesce(sum(length(data)), 0) FROM blocks WHERE service = ?1)"
		" + (SELECT coalesce(sum(length(data)), 0) FROM chunks WHERE service = ?1)"
		" + (SELECT coalesce(sum(length(data)), 0) FROM rollups WHERE service = ?1)"
		" + (SELECT coalesce(sum(length(data)), 0) FROM dictionary"
		" WHERE id >= ?2 AND id <= ?3)",
	/* Row counts, for upgrades. */
	[SERVICE_ROW_COUNTS] = "SELECT (SELECT count(*) FROM dictionary WHERE id >= ?1 << 32 AND"
			       " id < (?1 + 1) << 32),"
			       " (SELECT count(*) FROM blocks WHERE service = ?1),"
			       " (SELECT count(*) FROM rollups WHERE service = ?1),"
			       " (SELECT count(*) FROM reaches WHERE service = ?1), 0",
	[DICTIONARY_OF] =
		"SELECT id, data, seal FROM dictionary WHERE id >= ? AND id <= ? ORDER BY id",
	[DICTIONARY_LAST] = "SELECT max(id), count(*) FROM dictionary WHERE id >= ? AND id <= ?",
	[DICTIONARY_ADD] = "INSERT INTO dictionary(id, seal, data) VALUES (?, ?, ?)",
	TAKE(DICTIONARY_DELETE, "dictionary", "id >= ? AND id <= ?"),
	[CHUNK_ADD] = "INSERT INTO chunks(id, service, rows, seal, data) VALUES (?, ?, ?, ?, ?)",
	[CHUNK_GET] = "SELECT id, service, rows, data, seal FROM chunks WHERE id = ?",
	TAKE(CHUNK_DELETE, "chunks", "id = ?"),
	TAKE(CHUNK_DELETE_OF, "chunks", "service = ?"),
	/* Finds rows that a search by key does not find, because the inner pages of the table are
	 * damaged. Descending, so that SQLite searches each key instead of stepping to the next. */
	[CHUNK_LOST] = "SELECT c.id FROM chunks c LEFT JOIN chunks f ON f.id = c.id"
		       " WHERE f.rows IS NOT c.rows ORDER BY c.id DESC LIMIT 1",
	[CHUNK_ALL] = "SELECT id, service, rows, data, seal FROM chunks WHERE id >= ? AND id < ?"
		      " ORDER BY id",
	[BLOCK_ADD] = "INSERT INTO blocks(" BLOCK_COLUMNS ", seal, data)"
		      " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
	[BLOCK_RANGE] = "SELECT " BLOCK_COLUMNS ", data, seal FROM blocks INDEXED BY"
			" blocks_of_service WHERE service = ? AND id >= ? AND id < ? ORDER BY id",
	/* Entries of the index in their order, and what a search finds. An entry contains the id
	 * twice: `i.id` leads to the row, a search compares the other. */
	[BLOCK_ENTRIES] = "SELECT i.id, f.id FROM blocks i INDEXED BY blocks_of_service"
			  " LEFT JOIN blocks f INDEXED BY blocks_of_service"
			  " ON f.service = i.service AND f.id = i.id WHERE i.service = ?",
	TAKE(BLOCK_DELETE, "blocks", "id = ?"),
	TAKE(BLOCK_DELETE_OF, "blocks", "service = ?"),
	[BLOCK_KEYS] = "SELECT id, service, profiles FROM blocks INDEXED BY blocks_of_service"
		       " WHERE service >= ? AND service <= ? ORDER BY service, id",
	[BLOCK_SEALS] = "SELECT service, seal FROM blocks INDEXED BY blocks_of_service"
			" WHERE service >= ? AND service <= ? ORDER BY service",
	[BLOCK_COUNT] = "SELECT count(*), sum(profiles), sum(rows), min(first), max(last)"
			" FROM blocks INDEXED BY blocks_of_service",
	[BLOCK_OLDEST] = "SELECT min(id) FROM blocks",
	[BLOCK_BEFORE] = "SELECT id, service FROM blocks WHERE id < ? ORDER BY id",
	[BLOCK_ALL] = "SELECT " BLOCK_COLUMNS ", data, seal FROM blocks NOT INDEXED"
		      " WHERE id >= ? AND id < ? ORDER BY id",
	[ROLLUP_GET] = "SELECT data, seal FROM rollups"
		       " WHERE service = ? AND level = ? AND start = ?",
	[ROLLUP_PUT] = "INSERT INTO rollups(service, level, start, seal, data)"
		       " VALUES (?, ?, ?, ?, ?)",
	TAKE(ROLLUP_DELETE, "rollups", "service = ? AND level = ? AND start = ?"),
	TAKE(ROLLUP_DELETE_OF, "rollups", "service = ?"),
	[ROLLUP_KEYS] = "SELECT level, start FROM rollups WHERE service = ?",
	[ROLLUP_SEALS] = "SELECT service, seal FROM rollups INDEXED BY rollups_of_service"
			 " WHERE service >= ? AND service <= ? ORDER BY service",
	[ROLLUP_COUNT] = "SELECT count(*) FROM rollups INDEXED BY rollups_of_service",
	[ROLLUP_ALL] = "SELECT id, service, level, start, data, seal FROM rollups NOT INDEXED"
		       " WHERE id >= ? AND id < ? ORDER BY id",
	[REACH_ALL] = "SELECT service, window, longest, seal FROM reaches ORDER BY service, window",
	[REACH_PUT] = "INSERT INTO reaches(service, window, longest, seal) VALUES (?, ?, ?, ?)",
	TAKE(REACH_DELETE, "reaches", "service = ? AND window = ?"),
	TAKE(REACH_DELETE_OF, "reaches", "service = ?"),
	[INDEX_TABLE] = "SELECT 1",
	[INDEX_ALL] = "SELECT id, data, seal FROM series_index ORDER BY id",
	[INDEX_PUT] = "INSERT INTO series_index(id, seal, data) VALUES (?, ?, ?)",
	TAKE(INDEX_DELETE, "series_index", "id >= ? AND id <= ?"),
	[INDEX_SET_MARK] = "INSERT OR REPLACE INTO series_index(id, seal, data) VALUES (?, 0, x'')",
	[INDEX_UNMARK] = "DELETE FROM series_index WHERE id = 0",
	[INDEX_MARK] = "SELECT 1 FROM series_index WHERE id = 0",
	[ROW_COUNTS] = "SELECT (SELECT count(*) FROM services), (SELECT count(*) FROM chunks),"
		       " (SELECT count(*) FROM reaches WHERE service = 0),"
		       " (SELECT count(*) FROM dictionary) + (SELECT count(*) FROM chunks) +"
		       " (SELECT count(*) FROM blocks) + (SELECT count(*) FROM rollups) +"
		       " (SELECT count(*) FROM reaches)",
};

/* The same for files without seals. */
static const char *const day_older[DAY_STATEMENTS_] = {
	[SERVICE_ALL] = "SELECT id, name, series, x'', 0 FROM services ORDER BY id",
	[SERVICE_GET] = "SELECT id, name, series, x'', 0 FROM services WHERE id = ?",
	[DICTIONARY_OF] =
		"SELECT id, data, 0 FROM dictionary WHERE id >= ? AND id <= ? ORDER BY id",
	[CHUNK_GET] = "SELECT id, service, rows, data, 0 FROM chunks WHERE id = ?",
	[CHUNK_ALL] = "SELECT id, service, rows, data, 0 FROM chunks WHERE id >= ? AND id < ?"
		      " ORDER BY id",
	[BLOCK_RANGE] = "SELECT " BLOCK_COLUMNS ", data, 0 FROM blocks"
			" WHERE service = ? AND id >= ? AND id < ? ORDER BY id",
	[BLOCK_ENTRIES] = "SELECT ? WHERE 0",
	[BLOCK_ALL] = "SELECT " BLOCK_COLUMNS ", data, 0 FROM blocks NOT INDEXED"
		      " WHERE id >= ? AND id < ? ORDER BY id",
	[ROLLUP_GET] = "SELECT data, 0 FROM rollups"
		       " WHERE service = ? AND level = ? AND start = ?",
	[ROLLUP_ALL] = "SELECT id, service, level, start, data, 0 FROM rollups NOT INDEXED"
		       " WHERE id >= ? AND id < ? ORDER BY id",
	/* The index of older versions is not read. */
	[INDEX_TABLE] = "SELECT 0",
	[REACH_ALL] = "SELECT service, window, longest, 0 FROM reaches ORDER BY service, window",
};

const struct db_schema day_schema = {
	.name = "day",
	.version = DAY_SEALED_VERSION,
	.create = day_tables,
	.upgrade = day_upgrades,
	.statements = day_statements,
	.statement_count = DAY_STATEMENTS_,
	.older_below = DAY_SEALED_VERSION,
	.older = day_older,
};

#define SPANS_INDEX "CREATE INDEX spans_of_service ON spans(service, id, seal);"

static const char spans_tables[] =
	"CREATE TABLE names(id INTEGER PRIMARY KEY, text BLOB NOT NULL UNIQUE,"
	" seal INTEGER NOT NULL);"
	"CREATE TABLE spans(id INTEGER PRIMARY KEY, trace BLOB NOT NULL, span BLOB NOT NULL,"
	" parent BLOB NOT NULL, kind INTEGER NOT NULL, status INTEGER NOT NULL,"
	" service INTEGER NOT NULL, operation INTEGER NOT NULL, start INTEGER NOT NULL,"
	" duration INTEGER NOT NULL, attributes BLOB NOT NULL, seal INTEGER NOT NULL);"
	"CREATE INDEX spans_of_trace ON spans(trace);" SPANS_INDEX LEDGER_TABLE;

static const char *const spans_upgrades[] = {ADD_SEAL("names") ADD_SEAL(
	"spans") "DROP INDEX spans_of_service;" SPANS_INDEX LEDGER_TABLE};

/* LEFT JOIN, so that a missing name does not hide its spans. */
#define SPAN_COLUMNS(seal)                                                                         \
	"SELECT s.trace, s.span, s.parent, s.kind, s.status, n.text, o.text, s.start, s.duration," \
	" s.attributes, s.id, " seal " FROM spans s LEFT JOIN names n ON n.id = s.service"         \
	" LEFT JOIN names o ON o.id = s.operation "
#define SPAN_QUERIES(seal)                                                                    \
	[SPAN_NEWEST] = SPAN_COLUMNS(seal) "WHERE s.id >= ? AND s.id < ? ORDER BY s.id DESC", \
	[SPAN_OF_SERVICE] = SPAN_COLUMNS(                                                     \
		seal) "WHERE s.id >= ? AND s.id < ? AND s.service = ? ORDER BY s.id DESC",    \
	[SPAN_OF_TRACE] = SPAN_COLUMNS(                                                       \
		seal) "WHERE s.id >= ? AND s.id < ? AND s.trace = ? ORDER BY s.id DESC",      \
	[SPAN_ALL] = SPAN_COLUMNS(seal) "WHERE s.id >= ? AND s.id < ? ORDER BY s.id"

static const char *const spans_statements[SPANS_STATEMENTS_] = {
	LEDGER_STATEMENTS,
	[SPAN_ADD] = "INSERT INTO spans(id, trace, span, parent, kind, status, service, operation,"
		     " start, duration, attributes, seal)"
		     " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
	TAKE(SPAN_DELETE, "spans", "id = ?"),
	[SPAN_COUNT] = "SELECT count(*) FROM spans INDEXED BY spans_of_service",
	TAKE(SPAN_DELETE_BEFORE, "spans", "id < ?"),
	[SPAN_ENDS] = "SELECT (SELECT min(id) FROM spans), (SELECT max(id) FROM spans)",
	/* Each row that a search by its key finds; descending, as in CHUNK_LOST. Of what is found only
	 * the key is read: that is quicker, and a key that is there twice is out of order. */
	[SPAN_ROWS] = "SELECT s.id, s.seal, s.service FROM spans s NOT INDEXED"
		      " CROSS JOIN spans f ON f.id = s.id ORDER BY s.id DESC",
	/* As BLOCK_ENTRIES; of one service the entries are searched. */
	[SPAN_SERVICES] = "SELECT s.service, s.id, CASE WHEN s.service = ?1 THEN"
			  " (SELECT f.id FROM spans f INDEXED BY spans_of_service"
			  " WHERE f.service = ?1 AND f.id = s.id) END"
			  " FROM spans s INDEXED BY spans_of_service",
	[SPAN_ENTRIES_OF] = "SELECT s.id, f.id FROM spans s INDEXED BY spans_of_service"
			    " LEFT JOIN spans f INDEXED BY spans_of_service"
			    " ON f.service = s.service AND f.id = s.id WHERE s.service = ?",
	[SPAN_ENTRIES] = "SELECT id, trace, service, seal FROM spans NOT INDEXED",
	[SPAN_TRACES] = "SELECT trace, id FROM spans INDEXED BY spans_of_trace",
	SPAN_QUERIES("s.seal"),
	[NAME_FIND] = "SELECT id FROM names WHERE text = ?",
	/* For queries: NOT INDEXED, so that a damaged index does not hide a name. */
	[NAME_LOOK] = "SELECT id FROM names NOT INDEXED WHERE text = ?",
	[NAME_ADD] = "INSERT INTO names(text, seal) VALUES (?, ?)",
	[NAME_ALL] = "SELECT id, text, seal FROM names ORDER BY id",
	[SPAN_ROW_COUNTS] = "SELECT (SELECT count(*) FROM names), (SELECT count(*) FROM spans)",
};

static const char *const spans_older[SPANS_STATEMENTS_] = {
	SPAN_QUERIES("0"),
	[NAME_ALL] = "SELECT id, text, 0 FROM names ORDER BY id",
};

const struct db_schema spans_schema = {
	.name = "spans",
	.version = 2,
	.create = spans_tables,
	.upgrade = spans_upgrades,
	.statements = spans_statements,
	.statement_count = SPANS_STATEMENTS_,
	.older_below = 2,
	.older = spans_older,
};

/* The day files and their commit numbers when last closed, a second copy of the journal's data
 * (commit_journal.h). */
#define FILES_TABLE                                                                     \
	"CREATE TABLE files(kind INTEGER NOT NULL, day INTEGER NOT NULL, file INTEGER " \
	"NOT NULL, commits INTEGER NOT NULL, seal INTEGER NOT NULL,"                    \
	" PRIMARY KEY(kind, day)) WITHOUT ROWID;"

static const char catalog_tables[] =
	"CREATE TABLE settings(name BLOB PRIMARY KEY, value BLOB NOT NULL,"
	" modified INTEGER NOT NULL, seal INTEGER NOT NULL);"
	"CREATE TABLE audit(id INTEGER PRIMARY KEY, time INTEGER NOT NULL, event BLOB NOT NULL,"
	" detail BLOB NOT NULL, seal INTEGER NOT NULL);"
	/* Batches that go into several files, while they do (commit_undo.c). */
	"CREATE TABLE undo(id INTEGER PRIMARY KEY, data BLOB NOT NULL, seal INTEGER NOT NULL);"
	/* For testing whether the disk accepts writes again. */
	"CREATE TABLE probe(id INTEGER PRIMARY KEY, data BLOB NOT NULL);" FILES_TABLE LEDGER_TABLE;

static const char *const catalog_upgrades[] = {ADD_SEAL("settings") ADD_SEAL("audit")
						       ADD_SEAL("undo") FILES_TABLE LEDGER_TABLE};

static const char *const catalog_statements[CATALOG_STATEMENTS_] = {
	LEDGER_STATEMENTS,
	[SETTING_ALL] = "SELECT name, value, modified, seal FROM settings ORDER BY name",
	[SETTING_PUT] = "INSERT INTO settings(name, value, modified, seal) VALUES (?, ?, ?, ?)",
	[SETTING_DELETE] = "DELETE FROM settings WHERE name = ?" RETURNING_SEAL,
	[AUDIT_ADD] = "INSERT INTO audit(time, event, detail, seal) VALUES (?, ?, ?, ?)",
	[AUDIT_ALL] = "SELECT id, time, event, detail, seal FROM audit ORDER BY id",
	[UNDO_ALL] = "SELECT id, data, seal FROM undo ORDER BY id",
	[UNDO_ADD] = "INSERT INTO undo(data, seal) VALUES (?, ?)",
	[UNDO_DELETE] = "DELETE FROM undo WHERE id = ?" RETURNING_SEAL,
	[FILE_ALL] = "SELECT kind, day, file, commits, seal FROM files ORDER BY kind, day",
	[FILE_PUT] = "INSERT INTO files(kind, day, file, commits, seal) VALUES (?, ?, ?, ?, ?)",
	[FILE_DELETE] = "DELETE FROM files WHERE kind = ? AND day = ?" RETURNING_SEAL,
	[CATALOG_ROW_COUNTS] = "SELECT (SELECT count(*) FROM settings),"
			       " (SELECT count(*) FROM audit), (SELECT count(*) FROM undo)",
	[PROBE_ADD] = "INSERT INTO probe(data) VALUES (zeroblob(262144))",
	[PROBE_DELETE] = "DELETE FROM probe",
};

static const char *const catalog_older[CATALOG_STATEMENTS_] = {
	[SETTING_ALL] = "SELECT name, value, modified, 0 FROM settings ORDER BY name",
	[AUDIT_ALL] = "SELECT id, time, event, detail, 0 FROM audit ORDER BY id",
	[UNDO_ALL] = "SELECT id, data, 0 FROM undo ORDER BY id",
};

const struct db_schema catalog_schema = {
	.name = "catalog",
	.version = 2,
	.create = catalog_tables,
	.upgrade = catalog_upgrades,
	.statements = catalog_statements,
	.statement_count = CATALOG_STATEMENTS_,
	.older_below = 2,
	.older = catalog_older,
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

uint64_t seal_chunk_row(uint64_t key, sqlite3_stmt *q)
{
	return seal_chunk(key, sqlite3_column_int64(q, 0), sqlite3_column_int64(q, 1),
			  sqlite3_column_int64(q, 2), db_column(q, 3));
}

uint64_t seal_block_row(uint64_t key, sqlite3_stmt *q)
{
	int64_t columns[4];

	for (int i = 0; i < 4; i++)
		columns[i] = sqlite3_column_int64(q, 2 + i);
	return seal_block(key, sqlite3_column_int64(q, 0), sqlite3_column_int64(q, 1), columns,
			  db_column(q, 6));
}
