/*
 * Backups of all tenants. Callers cannot name a path: the server writes to a new folder, either in
 * its --backup-dir, under a plain name, or next to its data, from where the files are sent and then
 * removed. A failed backup is removed.
 *
 * Folders are created and opened by descriptors, without following links; only the server's user
 * has access to them and their files.
 */
#pragma once

#include "base/buf.h"
#include "server/symbol_sources.h"
#include "store/store.h"

struct backups;

struct backup_file {
	char *path; /* relative to the folder: "anonymous/2026-11-19.db" */
	uint64_t bytes;
};

/* `data`: NULL = in memory, without backups; `folder`: --backup-dir, or NULL. Removes leftovers of
 * a killed server. */
enum err backups_new(const char *data, const char *folder, struct backups **ret,
		     struct fault *fault) MUST_CHECK;
void backups_free(struct backups *b);

/* Writes one to --backup-dir. `damage` as for store_backup. */
enum err backups_write(struct backups *b, struct store *s, struct symbol_sources *symbols,
		       struct str name, struct damage_notes *damage, uint64_t *ret_bytes,
		       struct fault *fault) MUST_CHECK;

/* Creates one for sending: one at a time, until it is ended, or until no part was requested for ten
 * minutes. */
#define BACKUP_ID_SIZE	33
#define BACKUP_PART_MAX ((size_t)4 << 20)
enum err backups_begin(struct backups *b, struct store *s, struct symbol_sources *symbols,
		       struct damage_notes *damage, char ret_id[BACKUP_ID_SIZE],
		       struct fault *fault) MUST_CHECK;
/* Calls `each` for its files, in order of numbers. */
enum err backups_files(struct backups *b, struct str id,
		       void (*each)(void *context, const struct backup_file *file), void *context,
		       struct fault *fault) MUST_CHECK;
/* Reads the next bytes of a file, at most BACKUP_PART_MAX; empty at its end. */
enum err backups_read(struct backups *b, struct str id, uint64_t file, uint64_t offset,
		      struct buf *ret, struct fault *fault) MUST_CHECK;
enum err backups_end(struct backups *b, struct str id, struct fault *fault) MUST_CHECK;
/* Removes an expired one; call regularly. */
void backups_tidy(struct backups *b);
