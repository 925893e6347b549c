/*
 * Private to src/store: the files of a day and of a tenant, and all SQL that runs on them.
 *
 * Keys are numbers that say where a row belongs, so that a table needs no index for it:
 *	dictionary	service << 32 | sequence: rows of a service, in order, give its partition
 *	chunks, spans	milliseconds since 1970 << 20 | sequence: by time, appended at the end
 *	blocks		start of the window likewise
 *	series_index	as the dictionary: rows of a service, in order, say which series, types and
 *			labels it has (series_delta.c). A row 0 says that no service lacks its own.
 * Times before 1970 have no key and are refused. Every row has a seal (seal.h), every file a ledger
 * (ledger.h). Before version 3 of days and 2 of the others there were none: such rows have the seal
 * 0, and get one when they are written anew.
 */
#pragma once

#include "store/db.h"

extern const struct db_schema day_schema, spans_schema, catalog_schema;

/* The first statements of every schema. */
enum common_statement { LEDGER_GET, LEDGER_PUT, SCHEMA_TEXT, COMMON_STATEMENTS_ };

/* Of days: before a statement that deletes rows stands the one that yields their seals. */
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
	BLOCK_LOST,
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

#define DAY_SEALED_VERSION 3 /* of days; of the others 2 */
#define ROW_SEQUENCE_BITS  20

/* The smallest key of a time; keys of that millisecond follow. */
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

/* What the seals of rows must be: of CHUNK_GET and CHUNK_ALL, of BLOCK_RANGE and BLOCK_ALL. */
uint64_t seal_chunk_row(uint64_t key, sqlite3_stmt *q);
uint64_t seal_block_row(uint64_t key, sqlite3_stmt *q);

/* Runs a statement without rows whose parameters are all numbers. */
enum err db_run_numbers(struct db *db, unsigned which, const int64_t *numbers, int n,
			struct fault *fault) MUST_CHECK;
#define db_run_with(db, which, fault, ...)                        \
	db_run_numbers(db, which, (const int64_t[]){__VA_ARGS__}, \
		       sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t), fault)
/* Prepares one that yields rows, numbers bound. */
enum err db_query_numbers(struct db *db, unsigned which, const int64_t *numbers, int n,
			  sqlite3_stmt **ret, struct fault *fault) MUST_CHECK;
#define db_query_with(db, which, ret, fault, ...)                   \
	db_query_numbers(db, which, (const int64_t[]){__VA_ARGS__}, \
			 sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t), ret, fault)
