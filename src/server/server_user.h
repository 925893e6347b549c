/*
 * Started by root, the server becomes an unprivileged user. Before that, its files are handed over
 * and its sockets are bound; afterwards it has no capabilities, a seccomp filter, and with Landlock
 * only access to the files it needs.
 *
 * Started by an ordinary user, it keeps that user and applies the same restrictions.
 */
#pragma once

#include "base/privilege.h"
#include "server/server.h"

#define SERVER_KEPT_PATHS 32

/* State derived from the options; lives as long as the server. */
struct server_user {
	bool become;		    /* it has become this user */
	bool confine;		    /* all of it; else the process keeps what it has */
	bool change;		    /* of the uid: root, and --user is not root */
	struct privilege_user user; /* the user to become */
	/* Paths in folders that the user cannot enter, by a descriptor of the folder. */
	struct {
		char *path, *given;
	} kept[SERVER_KEPT_PATHS];
	size_t kept_count;
	const char **source_roots;
	/* Folders of files named in the settings, for reading. */
	char *folders[SERVER_KEPT_PATHS];
	size_t folder_count;
};

/* Creates and hands over writable folders, and replaces paths in the options that the user cannot
 * reach. Call before there are other threads. */
enum err server_user_prepare(struct server_user *u, struct server_options *o,
			     struct fault *fault) MUST_CHECK;
/* For a file named in the settings, such as a scrape token: replaces `*path` by one that the user
 * can reach. After a reload, by the same one as before. */
enum err server_user_reach(struct server_user *u, const char **path) MUST_CHECK;
/* Drops the privileges. Call after binding sockets and reading keys, before there are threads. */
enum err server_user_become(struct server_user *u, const struct server_options *o,
			    struct fault *fault) MUST_CHECK;
/* Restores original paths in a message. */
void server_user_name_paths(const struct server_user *u, struct fault *fault);
void server_user_release(struct server_user *u);
