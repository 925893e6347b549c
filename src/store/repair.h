/*
 * Private to `vestal check --repair` (embedded_repair.c): repair_copy.c copies the intact rows of a
 * file to a new one, repair_files.c names and moves files and lists the losses.
 */
#pragma once

#include "base/file.h"
#include "store/file_walk.h"
#include "store/tenant_walk.h"
#include "store/catalog.h"

struct loss_line {
	char *reason, *service;
	int64_t from_ns, until_ns, profiles;
};

struct new_service {
	int64_t old_id, id;
	uint32_t series;
	struct tally tallies[SERVICE_TALLIES];
	char *name;
};

struct repair {
	const char *directory;
	struct str tenant;
	char *folder;
	uint64_t seed;
	void (*each)(void *context, const struct store_lost *);
	void *context;
	struct store_repaired result;
	struct fault *fault;
	enum err error; /* from callbacks that cannot return one */
	/* Of the file under repair. */
	VEC(struct loss_line) losses;
	struct db *to;
	uint64_t key;
	struct ledger ledger;
	VEC(struct new_service) services;
	VEC(struct undo_row) undone; /* rows of interrupted batches */
};

/* A file to repair: a day of profiles or spans, or the catalog. */
struct target {
	const char *name; /* in the tenant's directory */
	const struct db_schema *schema;
	uint64_t place;
	int kind;
	int64_t day;
};

/* ------------------------------------------------------------------ repair_files.c */

/* Records a loss of the file under repair; struct tenant_walk calls it. */
void repair_note_loss(void *context, const char *text, const struct walk_loss *loss);
void repair_forget_losses(struct repair *r);
/* Writes losses to the manifest, and reports them to the caller. */
enum err repair_tell_losses(struct repair *r, const char *file, const char *detached) MUST_CHECK;

/* Names are relative to the tenant's directory. */
enum err repair_path(const struct repair *r, struct buf *out, const char *format, ...)
	PRINTF_LIKE(3, 4) MUST_CHECK;
bool repair_exists(struct repair *r, const char *name);
/* Renames a database and the files that SQLite keeps next to it. */
enum err repair_rename(struct repair *r, const char *from, const char *to) MUST_CHECK;
/* Removes them, given the absolute path; missing ones are fine. */
enum err repair_remove(struct repair *r, const char *path) MUST_CHECK;
/* "detached/NAME.1", or the next free number. */
enum err repair_free_name(struct repair *r, const char *file, char *out, size_t size) MUST_CHECK;
enum err repair_make_detached(struct repair *r) MUST_CHECK;
enum err repair_sync_folders(struct repair *r) MUST_CHECK;

/* ------------------------------------------------------------------ repair_copy.c */

/* Copies the intact rows to a new file; `ret_any` is false if there are none. */
enum err repair_copy(struct repair *r, const struct target *t, const char *path,
		     bool *ret_any) MUST_CHECK;
/* For a struct walk whose losses do not matter. */
void repair_ignore_bad(void *context, const char *text, const struct walk_loss *loss);
