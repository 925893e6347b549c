/*
 * Private to the embedded engine: the catalog of a tenant, which holds settings, the audit log, the
 * commit numbers of the days, and notes about batches that span several files.
 */
#pragma once

#include "store/embedded.h"

/* A row of a batch that spans several files. */
struct undo_row {
	struct day_name file;
	int64_t key;
	uint64_t seal;
	struct day_service *service; /* of a chunk */
};
struct undo_list {
	VEC(struct undo_row) rows;
};
enum err undo_begin(struct tenant *t, const struct undo_list *list, int64_t *ret_id,
		    struct fault *fault) MUST_CHECK;
enum err undo_end(struct tenant *t, int64_t id, struct fault *fault) MUST_CHECK;
/* Deletes the rows of batches that were interrupted. No such batch may be running. */
enum err undo_recover(struct tenant *t, struct fault *fault) MUST_CHECK;

bool catalog_exists(const struct tenant *t);
/* A transaction on the catalog; catalog_begin takes catalog_lock, catalog_end releases it. */
struct catalog_change {
	struct tenant *tenant;
	struct db *db;
	struct ledger before;
};
enum err catalog_begin(struct catalog_change *c, struct tenant *t, struct fault *fault) MUST_CHECK;
enum err catalog_end(struct catalog_change *c, enum err error, struct fault *fault) MUST_CHECK;
/* Runs a statement that deletes rows and returns their seals, and subtracts these from the
 * tally. */
enum err catalog_take(struct catalog_change *c, int tally, sqlite3_stmt *q,
		      struct fault *fault) MUST_CHECK;
static inline uint64_t catalog_key(const struct tenant *t)
{
	return file_key(t->place, t->ledger.file);
}
uint64_t seal_file(uint64_t key, int kind, int64_t day, uint64_t file, uint64_t commits);
uint64_t seal_setting(uint64_t key, struct str name, struct str value, int64_t modified);
uint64_t seal_audit(uint64_t key, int64_t time, struct str event, struct str detail);
/* Records the day's commit number in the catalog, so that losses are found without the journal. */
enum err catalog_record(struct day *d, struct fault *fault) MUST_CHECK;
enum err catalog_forget(struct tenant *t, struct day_name name, struct fault *fault) MUST_CHECK;

/* Adds a line to the tenant's audit log: what was done, and to what. */
enum err audit_add(struct tenant *t, const char *event, struct str detail,
		   struct fault *fault) MUST_CHECK;
