/* Opens files mapped by processes, and limits the number of open ones. */
#pragma once

#include "base/str.h"
#include "unwind/unwind_format.h"

/*
 * Opens it through the mapping itself, which also finds deleted and replaced files; else below the
 * root directory of the process, which may be in a container; else by the plain path, if the
 * process has ended. Except for the first way, the inode must match. -1 if there is none.
 */
int module_file_open(u32 pid, u64 start, u64 end, struct str path, u64 inode);

/* Raises the limit of open files as far as possible, and returns how many modules may use.
 */
u32 module_files_ceiling(void);
