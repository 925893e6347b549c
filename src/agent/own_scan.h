/* Lists processes and threads from /proc, for the unprivileged mode. */
#pragma once

#include "base/err.h"
#include "base/str.h"
#include "unwind/unwind_format.h"

/* Calls `each` for every current thread of a process. */
enum err scan_threads(u32 pid, void *context,
		      enum err (*thread)(void *context, u32 tid)) MUST_CHECK;
/* Calls `each` for every process of a user. */
enum err scan_processes(u32 uid, void *context,
			enum err (*process)(void *context, u32 pid)) MUST_CHECK;
/* Parent and start time (CLOCK_BOOTTIME, rounded down) in the text of /proc/PID/stat. */
bool stat_parse(struct str text, u32 *ret_parent, u64 *ret_start_ns);
bool stat_read(u32 pid, u32 *ret_parent, u64 *ret_start_ns);
