/*
 * What the server is when root starts it: a user without privileges. Before that happens its files
 * are handed over and its sockets are bound; afterwards it has no capabilities, a filter of system
 * calls, and where the kernel has Landlock only the files it needs.
 *
 * An ordinary user's server stays that user, and gives away the same.
 */
#pragma once

#include "base/privilege.h"
#include "server/server.h"

#define SERVER_KEPT_PATHS 32

/* What was made of the options; lives as long as the server. */
struct server_user {
	bool become;		    /* it is this user now */
	bool confine;		    /* all of it; else the process keeps what it has */
	bool change;		    /* of the uid: root, and --user is not root */
	struct privilege_user user; /* the one to become */
	/* Paths below folders that the user cannot enter, by a descriptor of the folder. */
	struct {
		char *path, *given;
	} kept[SERVER_KEPT_PATHS];
	size_t kept_count;
	const char **source_roots;
	/* Of files that the settings name: to be read from. */
	char *folders[SERVER_KEPT_PATHS];
	size_t folder_count;
};

/* Makes and hands over what is to be written, and changes paths in the options that the user will
 * not reach. By the first thread, before there are others. */
enum err server_user_prepare(struct server_user *u, struct server_options *o,
			     struct fault *fault) MUST_CHECK;
/* A file that the settings name, such as a token to scrape with: `*path` becomes one that the user
 * reaches. For settings that are read again, the one it was before. */
enum err server_user_reach(struct server_user *u, const char **path) MUST_CHECK;
/* From here on: sockets are bound, keys are read. Before there are threads. */
enum err server_user_become(struct server_user *u, const struct server_options *o,
			    struct fault *fault) MUST_CHECK;
/* In a message, paths as they were given. */
void server_user_name_paths(const struct server_user *u, struct fault *fault);
void server_user_release(struct server_user *u);
