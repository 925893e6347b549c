/* What /proc says about processes and threads, for those who may not be told by the kernel. */
#pragma once

#include "base/err.h"
#include "base/str.h"
#include "unwind/unwind_format.h"

/* Calls for every thread that a process has now. */
enum err scan_threads(u32 pid, void *context,
		      enum err (*thread)(void *context, u32 tid)) MUST_CHECK;
/* Calls for every process of a user. */
enum err scan_processes(u32 uid, void *context,
			enum err (*process)(void *context, u32 pid)) MUST_CHECK;
/* Parent and beginning (CLOCK_BOOTTIME, rounded down) from the text of /proc/PID/stat. */
bool stat_parse(struct str text, u32 *ret_parent, u64 *ret_start_ns);
bool stat_read(u32 pid, u32 *ret_parent, u64 *ret_start_ns);
