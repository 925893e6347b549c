/*
 * A SQLite file the way the store keeps them: 16 KiB pages, WAL, every commit on the disk before it
 * returns, space given back in steps, and a format version that older programs respect.
 *
 * A kind of file (a day, a catalog …) is a `struct db_schema`: how to make it, and all statements
 * anybody runs on it, by number. A statement is prepared when it is first used and kept; nothing
 * that comes from outside ever becomes SQL text.
 *
 *	sqlite3_stmt *q;
 *
 *	TRY(db_statement(db, CHUNK_INSERT, &q, fault));
 *	sqlite3_bind_int64(q, 1, id);
 *	TRY(db_run(db, q, fault));			one that yields no rows
 *
 *	while ((error = db_step(db, q, &row, fault)) == ERR_OK && row)
 *		…;
 *	db_reset(q);					one that does
 *
 * A connection belongs to one thread at a time. Faults name the file.
 */
#pragma once

#include <sqlite3.h>

#include "base/err.h"
#include "base/str.h"

/* "Vstl", so that file(1) and people can tell whose file it is. */
#define DB_APPLICATION 0x5673746c

struct db_schema {
	const char *name;   /* for people: "day", "catalog" */
	int version;	    /* of the format this program writes, from 1 */
	const char *create; /* all tables of that version */
	/* upgrade[v] turns version v + 1 into v + 2; version - 1 of them. */
	const char *const *upgrade;
	const char *const *statements;
	unsigned statement_count;
	/* Of files below this version some statements read otherwise; the others are NULL. */
	int older_below;
	const char *const *older;
};

enum db_mode {
	DB_READ,   /* must exist, is not changed; ERR_NOT_FOUND when nothing was ever committed */
	DB_WRITE,  /* must exist; upgraded when it is older */
	DB_CREATE, /* made when it is missing */
};

/* What begins and ends transactions. */
enum db_transaction { DB_BEGIN, DB_BEGIN_WRITE, DB_COMMIT, DB_ROLLBACK, DB_TRANSACTIONS_ };

struct db {
	sqlite3 *handle;
	const struct db_schema *schema;
	bool in_transaction;
	int64_t version; /* of the file when it was opened, or as it was made or upgraded then */
	const struct db_setup *setup; /* while it is opened */
	char *path;
	sqlite3_stmt *transactions[DB_TRANSACTIONS_];
	sqlite3_stmt *statements[];
};

enum err db_open(const char *path, const struct db_schema *schema, enum db_mode mode,
		 struct db **ret, struct fault *fault) MUST_CHECK;
/* What a file needs besides its tables: runs in the transaction that makes it (`from` = 0) or
 * upgrades it from a version. */
struct db_setup {
	enum err (*run)(void *context, struct db *db, int64_t from, struct fault *fault);
	void *context;
};
enum err db_open_with(const char *path, const struct db_schema *schema, enum db_mode mode,
		      const struct db_setup *setup, struct db **ret,
		      struct fault *fault) MUST_CHECK;
void db_close(struct db *db);

/* The statement, reset and without bindings of a previous use. */
enum err db_statement(struct db *db, unsigned which, sqlite3_stmt **ret,
		      struct fault *fault) MUST_CHECK;
/* Runs to the end a statement that yields no rows. */
enum err db_run(struct db *db, sqlite3_stmt *q, struct fault *fault) MUST_CHECK;
enum err db_step(struct db *db, sqlite3_stmt *q, bool *ret_row, struct fault *fault) MUST_CHECK;
/* Ends a statement early or late; harmless twice. It lets go of what it read and was given. */
void db_reset(sqlite3_stmt *q);

/* Bytes that stay where they are until db_run or db_reset; empty is an empty blob, not NULL. */
void db_bind(sqlite3_stmt *q, int parameter, struct str bytes);
/* Valid until the next step or reset. */
struct str db_column(sqlite3_stmt *q, int column);

/* `write` takes the write lock at once, so that a transaction cannot fail half way for the lock. */
enum err db_begin(struct db *db, bool write, struct fault *fault) MUST_CHECK;
/* A transaction that reads the file as it is at this moment, whatever others write. */
enum err db_begin_snapshot(struct db *db, struct fault *fault) MUST_CHECK;
enum err db_commit(struct db *db, struct fault *fault) MUST_CHECK;
/* Undoes; harmless outside a transaction. */
void db_rollback(struct db *db);

/* Gives up to `pages` free pages back to the disk; how many are left free. */
enum err db_vacuum(struct db *db, int pages, int64_t *ret_left, struct fault *fault) MUST_CHECK;
/* Moves the log into the file and empties it, as far as readers let it. */
enum err db_checkpoint(struct db *db, struct fault *fault) MUST_CHECK;
/* Pages of the file times their size, free ones not counted. */
enum err db_used_bytes(struct db *db, uint64_t *ret, struct fault *fault) MUST_CHECK;
/* SQLite's own opinion of the file, a sentence per problem. */
enum err db_integrity(struct db *db, void (*each)(void *context, const char *problem),
		      void *context, struct fault *fault) MUST_CHECK;
/* A copy under a name where nothing is yet: of what the open transaction sees, which others do not
 * disturb, else of the file as it is now. */
enum err db_copy(struct db *db, const char *path, struct fault *fault) MUST_CHECK;
