/* Private to src/store: rows of spans, for who reads them besides questions. */
#pragma once

#include "store/embedded.h"

uint64_t seal_name(uint64_t key, struct str text);
uint64_t seal_span(uint64_t key, int64_t id, const struct trace_span *span, struct str attributes);
enum err span_insert(struct db *db, int64_t key, const struct trace_span *span, int64_t service,
		     int64_t operation, struct str attributes, uint64_t seal,
		     struct fault *fault) MUST_CHECK;
/* Of rows of SPAN_COLUMNS: whether it is what was written; what it says, texts in the arena. */
bool span_row_good(const struct day *d, const struct db *reader, sqlite3_stmt *q);
enum err span_read(sqlite3_stmt *q, struct arena *arena, struct trace_span *ret) MUST_CHECK;

/* (spans_verify.c) Whether all spans are there, and are found in each way they are looked for;
 * once. The caller began a transaction. ERR_DAMAGED when not. */
enum err spans_verify(struct day *d, struct db *reader, struct ask *ask) MUST_CHECK;
