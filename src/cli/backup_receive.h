/*
 * The files of a backup that a server sends, written with the permissions of the calling user.
 * Names are the server's: nothing but plain ones is made, in a new folder, without following links.
 */
#pragma once

#include "base/buf.h"

struct backup_receive {
	int folder; /* -1 = none */
	const char *path;
};

/* Makes the folder: there must be nothing of that name. */
enum err backup_receive_begin(struct backup_receive *r, const char *path,
			      struct fault *fault) MUST_CHECK;
/* Makes "anonymous/2026-11-19.db" below it, and what folders it needs. */
enum err backup_receive_file(const struct backup_receive *r, struct str name, int *ret_fd,
			     struct fault *fault) MUST_CHECK;
/* On the disk, or removed with all that was written. */
enum err backup_receive_end(struct backup_receive *r, struct fault *fault) MUST_CHECK;
void backup_receive_drop(struct backup_receive *r);
