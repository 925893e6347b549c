#include "store/db.h"

#include <sys/stat.h>

#include "base/file.h"
#include "store/scratch.h"
#include "test.h"

enum { PUT, GET, COUNT, STATEMENTS };

static const char *const statements[STATEMENTS] = {
	[PUT] = "INSERT INTO things(id, data) VALUES (?, ?)",
	[GET] = "SELECT data FROM things WHERE id = ?",
	[COUNT] = "SELECT count(*) FROM things",
};
static const char *const upgrades[] = {"ALTER TABLE things ADD COLUMN note BLOB"};

static const struct db_schema first = {
	.name = "test",
	.version = 1,
	.create = "CREATE TABLE things(id INTEGER PRIMARY KEY, data BLOB NOT NULL)",
	.statements = statements,
	.statement_count = STATEMENTS,
};
static const struct db_schema second = {
	.name = "test",
	.version = 2,
	.create = "CREATE TABLE things(id INTEGER PRIMARY KEY, data BLOB NOT NULL, note BLOB)",
	.upgrade = upgrades,
	.statements = statements,
	.statement_count = STATEMENTS,
};

static enum err put(struct db *db, int64_t id, struct str data, struct fault *fault)
{
	sqlite3_stmt *q;

	TRY(db_statement(db, PUT, &q, fault));
	sqlite3_bind_int64(q, 1, id);
	db_bind(q, 2, data);
	return db_run(db, q, fault);
}

static int64_t count(struct db *db)
{
	sqlite3_stmt *q;
	bool row = false;
	int64_t n = -1;

	if (db_statement(db, COUNT, &q, NULL) == ERR_OK && db_step(db, q, &row, NULL) == ERR_OK &&
	    row)
		n = sqlite3_column_int64(q, 0);
	db_reset(q);
	return n;
}

static void close_db(struct db **db)
{
	db_close(*db);
}

TEST(what_was_committed_is_there_when_the_file_is_opened_again)
{
	CLEANUP(scratch_remove) struct scratch s;
	CLEANUP(close_db) struct db *db = NULL;
	sqlite3_stmt *q;
	bool row;

	scratch_make(&s);
	CHECK_OK(db_open(scratch_file(&s, "x.db"), &first, DB_CREATE, &db, NULL));
	CHECK_OK(db_begin(db, true, NULL));
	CHECK_OK(put(db, 7, STR("seven"), NULL));
	CHECK_OK(put(db, 8, STR(""), NULL));
	CHECK_OK(db_commit(db, NULL));
	CHECK_OK(db_begin(db, true, NULL));
	CHECK_OK(put(db, 9, STR("nine"), NULL));
	db_rollback(db);
	db_close(db);
	db = NULL;
	CHECK_OK(db_open(scratch_file(&s, "x.db"), &first, DB_READ, &db, NULL));
	CHECK_INT(count(db), 2);
	CHECK_OK(db_statement(db, GET, &q, NULL));
	sqlite3_bind_int64(q, 1, 7);
	CHECK_OK(db_step(db, q, &row, NULL));
	CHECK(row);
	CHECK_STR(db_column(q, 0), "seven");
	db_reset(q);
}

TEST(files_have_small_pages_a_log_and_give_space_back)
{
	static const struct {
		const char *sql, *expected;
	} pragmas[] = {
		{"PRAGMA page_size", "16384"},	     {"PRAGMA journal_mode", "wal"},
		{"PRAGMA synchronous", "2"},	     {"PRAGMA auto_vacuum", "2"},
		{"PRAGMA wal_autocheckpoint", "64"},
	};
	CLEANUP(scratch_remove) struct scratch s;
	CLEANUP(close_db) struct db *db = NULL;

	scratch_make(&s);
	CHECK_OK(db_open(scratch_file(&s, "x.db"), &first, DB_CREATE, &db, NULL));
	for (size_t i = 0; i < sizeof(pragmas) / sizeof(pragmas[0]); i++) {
		sqlite3_stmt *q;

		CHECK(sqlite3_prepare_v2(db->handle, pragmas[i].sql, -1, &q, NULL) == SQLITE_OK);
		CHECK(sqlite3_step(q) == SQLITE_ROW);
		CHECK_STR(str_of((const char *)sqlite3_column_text(q, 0)), pragmas[i].expected);
		sqlite3_finalize(q);
	}
}

TEST(deleted_rows_leave_the_disk_step_by_step)
{
	CLEANUP(scratch_remove) struct scratch s;
	CLEANUP(close_db) struct db *db = NULL;
	static char data[3000];
	int64_t left = 0, steps = 0;
	uint64_t used;
	struct stat before, after;

	scratch_make(&s);
	CHECK_OK(db_open(scratch_file(&s, "x.db"), &first, DB_CREATE, &db, NULL));
	CHECK_OK(db_begin(db, true, NULL));
	for (int i = 1; i <= 1000; i++)
		CHECK_OK(put(db, i, str_n(data, sizeof(data)), NULL));
	CHECK_OK(db_commit(db, NULL));
	CHECK_OK(db_checkpoint(db, NULL));
	CHECK(stat(db->path, &before) == 0);
	CHECK(sqlite3_exec(db->handle, "DELETE FROM things", NULL, NULL, NULL) == SQLITE_OK);
	CHECK_OK(db_used_bytes(db, &used, NULL));
	CHECK(used < 10 * 16384);
	do {
		CHECK_OK(db_vacuum(db, 20, &left, NULL));
		steps++;
	} while (left > 0 && steps < 100);
	CHECK(steps > 5);
	CHECK_INT(left, 0);
	CHECK_OK(db_checkpoint(db, NULL));
	CHECK(stat(db->path, &after) == 0);
	CHECK(before.st_size > 3000000 && after.st_size < 100000);
}

TEST(an_older_file_is_upgraded_and_a_newer_one_refused_with_a_sentence)
{
	CLEANUP(scratch_remove) struct scratch s;
	CLEANUP(close_db) struct db *db = NULL;
	struct fault fault = {0};

	scratch_make(&s);
	CHECK_OK(db_open(scratch_file(&s, "x.db"), &first, DB_CREATE, &db, NULL));
	CHECK_OK(put(db, 1, STR("old"), NULL));
	db_close(db);
	db = NULL;
	CHECK_OK(db_open(scratch_file(&s, "x.db"), &second, DB_WRITE, &db, NULL));
	CHECK_INT(count(db), 1);
	CHECK(sqlite3_exec(db->handle, "SELECT note FROM things", NULL, NULL, NULL) == SQLITE_OK);
	db_close(db);
	db = NULL;
	CHECK_ERR(db_open(scratch_file(&s, "x.db"), &first, DB_WRITE, &db, &fault),
		  ERR_UNSUPPORTED);
	CHECK(strstr(fault.text, "format version 2, this vestal reads up to 1"));
}

TEST(files_of_others_and_damaged_ones_are_told_apart)
{
	CLEANUP(scratch_remove) struct scratch s;
	CLEANUP(close_db) struct db *db = NULL;
	struct fault fault = {0};
	sqlite3 *other;

	scratch_make(&s);
	CHECK_OK(file_write(scratch_file(&s, "text.db"),
			    STR("this is surely not a database, it only has its name"), 0, NULL));
	CHECK_ERR(db_open(scratch_file(&s, "text.db"), &first, DB_WRITE, &db, &fault), ERR_DAMAGED);
	CHECK(strstr(fault.text, "text.db"));
	CHECK(sqlite3_open(scratch_file(&s, "other.db"), &other) == SQLITE_OK);
	sqlite3_exec(other, "CREATE TABLE t(x)", NULL, NULL, NULL);
	sqlite3_close(other);
	CHECK_ERR(db_open(scratch_file(&s, "other.db"), &first, DB_CREATE, &db, &fault),
		  ERR_DAMAGED);
	CHECK_ERR(db_open(scratch_file(&s, "missing.db"), &first, DB_WRITE, &db, &fault), ERR_IO);
}

static void count_problem(void *context, const char *problem)
{
	(void)problem;
	++*(int *)context;
}

TEST(a_copy_holds_what_its_transaction_saw_while_others_write)
{
	CLEANUP(scratch_remove) struct scratch s;
	CLEANUP(close_db) struct db *db = NULL;
	CLEANUP(close_db) struct db *reader = NULL;
	CLEANUP(close_db) struct db *copy = NULL;
	int problems = 0;

	scratch_make(&s);
	CHECK_OK(db_open(scratch_file(&s, "x.db"), &first, DB_CREATE, &db, NULL));
	CHECK_OK(put(db, 1, STR("before"), NULL));
	CHECK_OK(db_open(scratch_file(&s, "x.db"), &first, DB_READ, &reader, NULL));
	CHECK_OK(db_begin(reader, false, NULL));
	CHECK_INT(count(reader), 1);
	CHECK_OK(put(db, 2, STR("after"), NULL));
	CHECK_OK(db_copy(reader, scratch_file(&s, "copy.db"), NULL));
	CHECK_OK(db_commit(reader, NULL));
	CHECK_OK(db_open(scratch_file(&s, "copy.db"), &first, DB_READ, &copy, NULL));
	CHECK_INT(count(copy), 1);
	CHECK_INT(count(reader), 2);
	CHECK_OK(db_integrity(copy, count_problem, &problems, NULL));
	CHECK_INT(problems, 0);
}

static enum err open_and_close(const char *path)
{
	struct db *db = NULL;

	TRY(db_open(path, &first, DB_CREATE, &db, NULL));
	db_close(db);
	return ERR_OK;
}

TEST(opening_survives_every_failing_allocation)
{
	CLEANUP(scratch_remove) struct scratch s;

	scratch_make(&s);
	ALLOC_SWEEP(open_and_close(scratch_file(&s, "x.db")));
}
