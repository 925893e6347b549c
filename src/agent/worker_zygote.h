/*
 * Zygotes: small processes, forked before the agent holds any data, that fork workers on request.
 * They have no privileges, and a uid and user namespace that no other process has, so that only
 * root can stop or kill them.
 *
 * There are two of them, and each can restart the other: docs/decisions/0011.
 */
#pragma once

#include <sys/types.h>

#include "base/err.h"
#include "unwind/unwind_format.h"

/* Requests besides enum worker_kind, in the kind of a struct wire_head. */
enum zygote_request {
	ZYGOTE_FORK = 32, /* + descriptor: another zygote, which serves that socket */
	ZYGOTE_KILL,	  /* serial: the pid to kill, of the same uid */
};

/* The answer is a wire_head whose serial is the new pid, or 0. */

/* Called once for the first of them, while the caller is root if it ever is. */
enum err zygote_start(int *ret_socket, pid_t *ret_pid) MUST_CHECK;
/*
 * Finds an unused uid, in a range not used for logins, containers or dynamic users. False if ids
 * are not mapped (in a container with few ids).
 */
bool zygote_find_uid(u32 *ret);
