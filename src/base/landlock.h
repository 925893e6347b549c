/*
 * Landlock: which files a process may read and change, whoever it is. On a kernel without it
 * nothing is taken away, and that is no error.
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"

/* A folder with all below it, or a file. */
struct landlock_path {
	const char *path; /* NULL, or missing: left out */
	bool write;	  /* make, change and remove too */
};

/*
 * Only these from now on, for this thread and those it starts. no_new_privs is set already.
 * The descriptor of the rules stays open: it shows in
 * /proc/PID/fd (LANDLOCK_LINK) what the process holds.
 */
#define LANDLOCK_LINK "landlock-ruleset"
enum err landlock_only(const struct landlock_path *paths, unsigned n,
		       struct fault *fault) MUST_CHECK;
