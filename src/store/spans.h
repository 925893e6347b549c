/* Private to src/store: reading and writing rows of spans, for upgrades, checks and repairs. */
#pragma once

#include "store/embedded.h"

uint64_t seal_name(uint64_t key, struct str text);
uint64_t seal_span(uint64_t key, int64_t id, const struct trace_span *span, struct str attributes);
enum err span_insert(struct db *db, int64_t key, const struct trace_span *span, int64_t service,
		     int64_t operation, struct str attributes, uint64_t seal,
		     struct fault *fault) MUST_CHECK;
/* Decodes a row of SPAN_COLUMNS; its strings are copied to the arena. */
enum err span_read(sqlite3_stmt *q, struct arena *arena, struct trace_span *ret) MUST_CHECK;
