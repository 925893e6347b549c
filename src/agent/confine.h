/*
 * After startup the agent permanently drops all privileges that it no longer needs.
 */
#pragma once

#include "base/err.h"
#include "unwind/unwind_format.h"

/* Folders of the queue, of debug files, of the control socket. */
#define CONFINE_FOLDERS 3

struct confine_options {
	const char *folders[CONFINE_FOLDERS]; /* the only writable ones; NULL = none */
};

/*
 * Root becomes a dedicated user (vestal-agent, or PRIVILEGE_AGENT_UID) who owns these folders; only
 * the capabilities needed at run time are kept; new privileges and the system calls below are
 * forbidden; only the folders are writable. Applies to this thread and those it starts, so call it
 * before there are others. Fails if a privilege cannot be dropped. Later calls (after a reload) do
 * nothing.
 */
enum err confine_self(const struct confine_options *o, struct fault *fault) MUST_CHECK;
/* The original user. */
u32 confine_first_uid(void);
/*
 * For a worker that reads untrusted files: no capabilities, and only the system calls needed for
 * reading. Its socket is its only connection to others.
 */
enum err confine_reader(void) MUST_CHECK;
