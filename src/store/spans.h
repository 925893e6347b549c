/* Private to src/store: reading and writing rows of spans, for upgrades, checks and repairs. */
#pragma once

#include "store/embedded.h"

uint64_t seal_name(uint64_t key, struct str text);
uint64_t seal_span(uint64_t key, int64_t id, const struct trace_span *span, struct str attributes);
enum err span_insert(struct db *db, int64_t key, const struct trace_span *span, int64_t service,
		     int64_t operation, struct str attributes, uint64_t seal,
		     struct fault *fault) MUST_CHECK;
/* Whether a row of SPAN_COLUMNS has the right seal. */
bool span_row_good(const struct day *d, const struct db *reader, sqlite3_stmt *q);
/* Decodes a row of SPAN_COLUMNS; its strings are copied to the arena. */
enum err span_read(sqlite3_stmt *q, struct arena *arena, struct trace_span *ret) MUST_CHECK;

/* (spans_verify.c) Ways to search for spans, each with its bit in day->spans_verified. */
enum span_way { SPANS_BY_TIME = 1, SPANS_BY_SERVICE = 2, SPANS_BY_TRACE = 4 };
/* Checks once that no span is missing and that searches of this kind find each, those by service of
 * this service (0 = unknown). The caller must have begun a transaction. ERR_DAMAGED if not. */
enum err spans_verify(struct day *d, struct db *reader, enum span_way way, int64_t service,
		      struct ask *ask) MUST_CHECK;
/* Adds the index entries of a span to TALLY_SPAN_SERVICES and TALLY_SPAN_TRACES. */
void spans_count_entries(struct ledger *l, int64_t id, int64_t service, struct str trace);
