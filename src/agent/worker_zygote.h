/*
 * Zygotes: small processes that were forked before the agent had anything worth taking, and that
 * fork workers when they are asked to. They hold no privileges: a uid and a user namespace that no
 * other process has, so that nobody but root can stop or end them.
 *
 * There are two of them. Each can fork the other one again: docs/decisions/0011.
 */
#pragma once

#include <sys/types.h>

#include "base/err.h"
#include "unwind/unwind_format.h"

/* Requests beside enum worker_kind, as the kind of a struct wire_head. */
enum zygote_request {
	ZYGOTE_FORK = 32, /* + descriptor: another zygote, which serves that socket */
	ZYGOTE_KILL,	  /* serial: the process to end, one of the same uid */
};

/* What a zygote answers: a wire_head whose serial is the new process, or 0. */

/* Called once for the first of them, while the caller is root if it ever is. */
enum err zygote_start(int *ret_socket, pid_t *ret_pid) MUST_CHECK;
/*
 * A uid that is nobody's: no login, container or dynamic user is given one of its range, and no
 * process has it now. False where ids are not mapped (a container of a few ids).
 */
bool zygote_find_uid(u32 *ret);
