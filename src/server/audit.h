/*
 * What cannot be undone or opens a door, line by line in audit.log: deletes, by whom or by which
 * rule, backups, changed settings, a confirmed clock, tokens made and revoked. A line is JSON:
 *
 *	{"time":"2026-11-15T10:00:00.000Z","action":"delete","token":"…","peer":"…",…}
 *
 * Only ever appended to, one write(2) each, readable by its owner alone.
 */
#pragma once

#include "base/err.h"
#include "base/str.h"

struct audit;

struct audit_pair {
	const char *key;
	struct str value;
};

/* audit.log in a directory. */
enum err audit_open(const char *directory, struct audit **ret, struct fault *fault) MUST_CHECK;
/* That of the directory in which `file` is, locked: for programs that change `file`. */
enum err audit_lock_beside(const char *file, struct audit **ret, struct fault *fault) MUST_CHECK;
void audit_close(struct audit *a);
/* Thread safe; NULL writes nothing. */
enum err audit_write(struct audit *a, const char *action, const struct audit_pair *pairs, size_t n,
		     struct fault *fault) MUST_CHECK;
