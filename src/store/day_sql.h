/*
 * Private to src/store: the schemas of day files and of a tenant's catalog, and all SQL that runs
 * on them.
 *
 * Keys encode where a row belongs, so that a table needs no separate index:
 *	dictionary	service << 32 | sequence: the rows of a service, in order, are its
 *			partition
 *	chunks, spans	milliseconds since 1970 << 20 | sequence: ordered by time
 *	blocks		the same, with the start of the window
 *	series_index	as the dictionary: the rows of a service, in order, list its series, types
 *			and labels (series_delta.c). Row 0 means that every service has its rows.
 *
 * Times before 1970 have no key and are refused. Every row has a seal (seal.h), every file a ledger
 * (ledger.h). Files of days before version 3, and other files before version 2, had neither: such
 * rows have the seal 0 and get a real one when they are rewritten.
 */
#pragma once

#include "store/db.h"

extern const struct db_schema day_schema, spans_schema, catalog_schema;

/* The first statements of every schema. */
enum common_statement { LEDGER_GET, LEDGER_PUT, SCHEMA_TEXT, COMMON_STATEMENTS_ };

/* Each statement that deletes rows follows the one that selects the seals of those rows. */
enum day_statement {
	SERVICE_ALL = COMMON_STATEMENTS_,
	SERVICE_GET,
	SERVICE_ADD,
	SERVICE_PUT,
	SERVICE_DELETE,
	SERVICE_BYTES,
	SERVICE_ROW_COUNTS,
	DICTIONARY_OF,
	DICTIONARY_LAST,
	DICTIONARY_ADD,
	DICTIONARY_DELETE_SEALS,
	DICTIONARY_DELETE,
	CHUNK_ADD,
	CHUNK_GET,
	CHUNK_DELETE_SEALS,
	CHUNK_DELETE,
	CHUNK_DELETE_OF_SEALS,
	CHUNK_DELETE_OF,
	CHUNK_LOST,
	CHUNK_ALL,
	BLOCK_ADD,
	BLOCK_RANGE,
	BLOCK_ENTRIES,
	BLOCK_DELETE_SEALS,
	BLOCK_DELETE,
	BLOCK_DELETE_OF_SEALS,
	BLOCK_DELETE_OF,
	BLOCK_KEYS,
	BLOCK_SEALS,
	BLOCK_COUNT,
	BLOCK_OLDEST,
	BLOCK_BEFORE,
	BLOCK_ALL,
	ROLLUP_GET,
	ROLLUP_PUT,
	ROLLUP_DELETE_SEALS,
	ROLLUP_DELETE,
	ROLLUP_DELETE_OF_SEALS,
	ROLLUP_DELETE_OF,
	ROLLUP_KEYS,
	ROLLUP_SEALS,
	ROLLUP_COUNT,
	ROLLUP_ALL,
	REACH_ALL,
	REACH_PUT,
	REACH_DELETE_SEALS,
	REACH_DELETE,
	REACH_DELETE_OF_SEALS,
	REACH_DELETE_OF,
	INDEX_TABLE,
	INDEX_ALL,
	INDEX_PUT,
	INDEX_DELETE_SEALS,
	INDEX_DELETE,
	INDEX_MARK,
	INDEX_SET_MARK,
	INDEX_UNMARK,
	ROW_COUNTS,
	DAY_STATEMENTS_
};

enum spans_statement {
	SPAN_ADD = COMMON_STATEMENTS_,
	SPAN_DELETE_SEALS,
	SPAN_DELETE,
	SPAN_COUNT,
	SPAN_ROWS,
	SPAN_SERVICES,
	SPAN_ENTRIES_OF,
	SPAN_ENTRIES,
	SPAN_TRACES,
	SPAN_ALL,
	SPAN_NEWEST,
	SPAN_OF_SERVICE,
	SPAN_OF_TRACE,
	SPAN_DELETE_BEFORE_SEALS,
	SPAN_DELETE_BEFORE,
	SPAN_ENDS,
	NAME_FIND,
	NAME_LOOK,
	NAME_ADD,
	NAME_ALL,
	SPAN_ROW_COUNTS,
	SPANS_STATEMENTS_
};

enum catalog_statement {
	SETTING_ALL = COMMON_STATEMENTS_,
	SETTING_PUT,
	SETTING_DELETE,
	AUDIT_ADD,
	AUDIT_ALL,
	UNDO_ALL,
	UNDO_ADD,
	UNDO_DELETE,
	FILE_ALL,
	FILE_PUT,
	FILE_DELETE,
	CATALOG_ROW_COUNTS,
	PROBE_ADD,
	PROBE_DELETE,
	CATALOG_STATEMENTS_
};

#define DAY_SEALED_VERSION 3 /* of day files with profiles; other files: 2 */
#define ROW_SEQUENCE_BITS  20

/* The key of a row; with sequence 0 the smallest key of that millisecond. */
static inline int64_t row_key(int64_t time_ns, uint32_t sequence)
{
	return time_ns / 1000000 << ROW_SEQUENCE_BITS |
	       (sequence & ((1u << ROW_SEQUENCE_BITS) - 1));
}
static inline int64_t row_time_ns(int64_t key)
{
	return (key >> ROW_SEQUENCE_BITS) * 1000000;
}
static inline int64_t dictionary_key(uint32_t service, uint32_t sequence)
{
	return (int64_t)service << 32 | sequence;
}

/* The expected seal of a row of CHUNK_GET or CHUNK_ALL, and of BLOCK_RANGE or BLOCK_ALL. */
uint64_t seal_chunk_row(uint64_t key, sqlite3_stmt *q);
uint64_t seal_block_row(uint64_t key, sqlite3_stmt *q);

/* Runs a statement that returns no rows and whose parameters are all numbers. */
enum err db_run_numbers(struct db *db, unsigned which, const int64_t *numbers, int n,
			struct fault *fault) MUST_CHECK;
#define db_run_with(db, which, fault, ...)                        \
	db_run_numbers(db, which, (const int64_t[]){__VA_ARGS__}, \
		       sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t), fault)
/* Prepares a statement that returns rows and binds its numbers. */
enum err db_query_numbers(struct db *db, unsigned which, const int64_t *numbers, int n,
			  sqlite3_stmt **ret, struct fault *fault) MUST_CHECK;
#define db_query_with(db, which, ret, fault, ...)                   \
	db_query_numbers(db, which, (const int64_t[]){__VA_ARGS__}, \
			 sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t), ret, fault)
