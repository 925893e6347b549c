/*
 * A folder for a backup: creating, listing and removing it, all by descriptors.
 */
#pragma once

#include "base/vec.h"
#include "server/backups.h"

struct backup_folder {
	int place; /* the parent folder; not owned */
	int fd;	   /* -1 = none */
	char name[80];
};

struct backup_list {
	VEC(struct backup_file) v;
	uint64_t bytes;
};

/* ERR_EXISTS if the name exists. */
enum err backup_folder_make(struct backup_folder *f, int place, const char *name,
			    struct fault *fault) MUST_CHECK;
/* Copies everything, and syncs it to disk; `damage` as for store_backup. */
enum err backup_folder_fill(const struct backup_folder *f, struct store *s,
			    struct symbol_sources *symbols, struct damage_notes *damage,
			    struct fault *fault) MUST_CHECK;
enum err backup_folder_list(const struct backup_folder *f, struct backup_list *ret,
			    struct fault *fault) MUST_CHECK;
void backup_list_release(struct backup_list *l);
void backup_folder_remove(struct backup_folder *f);
void backup_folder_close(struct backup_folder *f);
/* Opens by name in an open folder. */
void backup_remove_tree(int place, const char *name);
