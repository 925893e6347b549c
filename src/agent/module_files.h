/* Opening the files that processes map, and how many may be open. */
#pragma once

#include "base/str.h"
#include "unwind/unwind_format.h"

/*
 * Through the mapping itself, which also finds files that were deleted or replaced; through the
 * process's root, as it may live in a container; by the plain path, when the process is gone. Other
 * than by the first way only a file with the same inode will do. -1 when there is none.
 */
int module_file_open(u32 pid, u64 start, u64 end, struct str path, u64 inode);

/* Raises the limit of open files as far as this process may, and returns how many are for modules.
 */
u32 module_files_ceiling(void);
