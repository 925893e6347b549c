/*
 * The audit log, audit.log, of actions that cannot be undone or that grant access: deletes by users
 * and by retention, backups, changed settings, a confirmed clock, created and revoked tokens. A
 * line is JSON:
 *
 *	{"time":"2026-11-15T10:00:00.000Z","action":"delete","token":"…","peer":"…",…}
 *
 * The file is only appended to, by one write(2) per line, and has mode 0600.
 */
#pragma once

#include "base/err.h"
#include "base/str.h"

struct audit;

struct audit_pair {
	const char *key;
	struct str value;
};

/* Opens audit.log in a directory. */
enum err audit_open(const char *directory, struct audit **ret, struct fault *fault) MUST_CHECK;
/* Opens that of the directory of `file`, locked, for programs that change `file`. */
enum err audit_lock_beside(const char *file, struct audit **ret, struct fault *fault) MUST_CHECK;
void audit_close(struct audit *a);
/* Thread safe; NULL writes nothing. */
enum err audit_write(struct audit *a, const char *action, const struct audit_pair *pairs, size_t n,
		     struct fault *fault) MUST_CHECK;
