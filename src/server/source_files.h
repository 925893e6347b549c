/*
 * Source files in the directories of --source-root, found by their path in a profile. Never reads
 * files outside of them, or hidden files.
 */
#pragma once

#include "base/buf.h"
#include "base/err.h"

#define SOURCE_MAX_ROOTS 16
#define SOURCE_MAX_SIZE	 ((size_t)4 << 20)
#define SOURCE_MAX_PATH	 4000

/*
 * The text of "/build/src/app/main.c": root/build/src/app/main.c, else the longest matching suffix:
 * root/src/app/main.c, root/app/main.c, root/main.c. ERR_NOT_FOUND if no root has it.
 */
enum err source_file_read(const char *const *roots, size_t root_count, struct str path,
			  struct buf *ret, struct fault *fault) MUST_CHECK;
