/*
 * Copies of everything, of all tenants. A caller names no path of this machine: the server writes
 * into a new folder, either below its --backup-dir, under a plain name, or beside its data, from
 * where the files are sent and then removed. What fails leaves nothing behind.
 *
 * Folders are made and opened by descriptors, without following links; they and the files in them
 * are the server's user's alone.
 */
#pragma once

#include "base/buf.h"
#include "server/symbol_desk.h"
#include "store/store.h"

struct backups;

struct backup_file {
	char *path; /* below the folder: "anonymous/2026-11-19.db" */
	uint64_t bytes;
};

/* `data`: NULL = in memory, which has no backup; `folder`: --backup-dir, or NULL. Removes what a
 * server that was killed left behind. */
enum err backups_new(const char *data, const char *folder, struct backups **ret,
		     struct fault *fault) MUST_CHECK;
void backups_free(struct backups *b);

/* Into --backup-dir. `damage` as store_backup. */
enum err backups_write(struct backups *b, struct store *s, struct symbol_desk *symbols,
		       struct str name, struct damage_notes *damage, uint64_t *ret_bytes,
		       struct fault *fault) MUST_CHECK;

/* To be sent: one at a time, until its end, or until nobody asked for a part for ten minutes. */
#define BACKUP_ID_SIZE	33
#define BACKUP_PART_MAX ((size_t)4 << 20)
enum err backups_begin(struct backups *b, struct store *s, struct symbol_desk *symbols,
		       struct damage_notes *damage, char ret_id[BACKUP_ID_SIZE],
		       struct fault *fault) MUST_CHECK;
/* Calls `each` for its files, in the order of their numbers. */
enum err backups_files(struct backups *b, struct str id,
		       void (*each)(void *context, const struct backup_file *file), void *context,
		       struct fault *fault) MUST_CHECK;
/* The next bytes of a file, BACKUP_PART_MAX at most; empty at its end. */
enum err backups_read(struct backups *b, struct str id, uint64_t file, uint64_t offset,
		      struct buf *ret, struct fault *fault) MUST_CHECK;
enum err backups_end(struct backups *b, struct str id, struct fault *fault) MUST_CHECK;
/* Removes one that nobody has asked for in a while; called now and then. */
void backups_tidy(struct backups *b);
