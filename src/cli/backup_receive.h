/*
 * The files of a backup that a server sends, written with the permissions of the calling user. The
 * server chooses the names: only plain ones are accepted, in a new folder, without following links.
 */
#pragma once

#include "base/buf.h"

struct backup_receive {
	int folder; /* -1 = none */
	const char *path;
};

/* Creates the folder, which must not exist. */
enum err backup_receive_begin(struct backup_receive *r, const char *path,
			      struct fault *fault) MUST_CHECK;
/* Creates "anonymous/2026-11-19.db" in it, with its parent folders. */
enum err backup_receive_file(const struct backup_receive *r, struct str name, int *ret_fd,
			     struct fault *fault) MUST_CHECK;
/* Syncs everything to disk; on failure removes everything. */
enum err backup_receive_end(struct backup_receive *r, struct fault *fault) MUST_CHECK;
void backup_receive_drop(struct backup_receive *r);
