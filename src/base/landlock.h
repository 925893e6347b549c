/*
 * Landlock: restricts the files a process may read and change, independent of its user. On a kernel
 * without Landlock this does nothing and succeeds.
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"

/* A file, or a folder with everything below it. */
struct landlock_path {
	const char *path; /* NULL, or missing: left out */
	bool write;	  /* create, change and remove, too */
};

/*
 * Allows only these, for this thread and threads it starts later. Requires no_new_privs. The
 * descriptor of the rules stays open, so that /proc/PID/fd (LANDLOCK_LINK) shows that the process
 * is restricted.
 */
#define LANDLOCK_LINK "landlock-ruleset"
enum err landlock_only(const struct landlock_path *paths, unsigned n,
		       struct fault *fault) MUST_CHECK;
