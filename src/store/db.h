/*
 * A SQLite file with the store's settings: 16 KiB pages, WAL, every commit synced before it
 * returns, incremental vacuum, and a format version that older programs refuse.
 *
 * A kind of file (a day, a catalog …) is a `struct db_schema`: how to create it, and a numbered
 * list of all statements that run on it. A statement is prepared on first use and kept; external
 * input never becomes SQL text.
 *
 *	sqlite3_stmt *q;
 *
 *	TRY(db_statement(db, CHUNK_INSERT, &q, fault));
 *	sqlite3_bind_int64(q, 1, id);
 *	TRY(db_run(db, q, fault));			a statement that returns no rows
 *
 *	while ((error = db_step(db, q, &row, fault)) == ERR_OK && row)
 *		…;
 *	db_reset(q);					a statement that returns rows
 *
 * A connection belongs to one thread at a time. Faults name the file.
 */
#pragma once

#include <sqlite3.h>

#include "base/err.h"
#include "base/str.h"

/* "Vstl", the SQLite application_id: file(1) shows it. */
#define DB_APPLICATION 0x5673746c

struct db_schema {
	const char *name;   /* for messages: "day", "catalog" */
	int version;	    /* format version that this program writes, from 1 */
	const char *create; /* SQL that creates all tables of that version */
	/* upgrade[v] turns version v + 1 into v + 2; version - 1 of them. */
	const char *const *upgrade;
	const char *const *statements;
	unsigned statement_count;
	/* Replacements for statements on files below version `older_below`; NULL = same
	 * statement. */
	int older_below;
	const char *const *older;
};

enum db_mode {
	DB_READ,   /* must exist, read only; ERR_NOT_FOUND if nothing was ever committed */
	DB_WRITE,  /* must exist; an older version is upgraded */
	DB_CREATE, /* created if missing */
};

enum db_transaction { DB_BEGIN, DB_BEGIN_WRITE, DB_COMMIT, DB_ROLLBACK, DB_TRANSACTIONS_ };

struct db {
	sqlite3 *handle;
	const struct db_schema *schema;
	bool in_transaction;
	int64_t version;	      /* of the file, after db_open created or upgraded it */
	const struct db_setup *setup; /* only during db_open_with */
	char *path;
	sqlite3_stmt *transactions[DB_TRANSACTIONS_];
	sqlite3_stmt *statements[];
};

enum err db_open(const char *path, const struct db_schema *schema, enum db_mode mode,
		 struct db **ret, struct fault *fault) MUST_CHECK;
/* Extra setup of a file, run in the transaction that creates it (`from` = 0) or upgrades it from
 * version `from`. */
struct db_setup {
	enum err (*run)(void *context, struct db *db, int64_t from, struct fault *fault);
	void *context;
};
enum err db_open_with(const char *path, const struct db_schema *schema, enum db_mode mode,
		      const struct db_setup *setup, struct db **ret,
		      struct fault *fault) MUST_CHECK;
void db_close(struct db *db);

/* The statement, reset and with its bindings cleared. */
enum err db_statement(struct db *db, unsigned which, sqlite3_stmt **ret,
		      struct fault *fault) MUST_CHECK;
/* Runs a statement that returns no rows. */
enum err db_run(struct db *db, sqlite3_stmt *q, struct fault *fault) MUST_CHECK;
enum err db_step(struct db *db, sqlite3_stmt *q, bool *ret_row, struct fault *fault) MUST_CHECK;
/* Resets a statement and clears its bindings; may be called at any time, also twice. */
void db_reset(sqlite3_stmt *q);

/* The bytes must stay valid until db_run or db_reset. An empty string is bound as an empty blob,
 * not as NULL. */
void db_bind(sqlite3_stmt *q, int parameter, struct str bytes);
/* Valid until the next step or reset. */
struct str db_column(sqlite3_stmt *q, int column);

/* `write` takes the write lock immediately, so that the transaction cannot fail on it later. */
enum err db_begin(struct db *db, bool write, struct fault *fault) MUST_CHECK;
/* Begins a read transaction on the current state of the file; later writes are invisible to it. */
enum err db_begin_snapshot(struct db *db, struct fault *fault) MUST_CHECK;
enum err db_commit(struct db *db, struct fault *fault) MUST_CHECK;
/* Rolls back; does nothing outside a transaction. */
void db_rollback(struct db *db);

/* Returns up to `pages` free pages to the file system; *ret_left is how many remain free. */
enum err db_vacuum(struct db *db, int pages, int64_t *ret_left, struct fault *fault) MUST_CHECK;
/* Checkpoints the WAL and truncates it as far as readers allow. */
enum err db_checkpoint(struct db *db, struct fault *fault) MUST_CHECK;
/* Pages of the file times their size, free ones not counted. */
enum err db_used_bytes(struct db *db, uint64_t *ret, struct fault *fault) MUST_CHECK;
/* Runs SQLite's integrity check; one call of `each` per problem. */
enum err db_integrity(struct db *db, void (*each)(void *context, const char *problem),
		      void *context, struct fault *fault) MUST_CHECK;
/* Copies the file to a path that must not exist: the snapshot of the open transaction, if there is
 * one, else the current state. */
enum err db_copy(struct db *db, const char *path, struct fault *fault) MUST_CHECK;
