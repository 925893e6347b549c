/*
 * Source text below directories that the server was given (--source-root), by the path a profile
 * has for it. Nothing outside of them is ever read, and nothing hidden inside.
 */
#pragma once

#include "base/buf.h"
#include "base/err.h"

#define SOURCE_MAX_ROOTS 16
#define SOURCE_MAX_SIZE	 ((size_t)4 << 20)
#define SOURCE_MAX_PATH	 4000

/*
 * The text of "/build/src/app/main.c": root/build/src/app/main.c, or what its end names, as long as
 * possible: root/src/app/main.c, root/app/main.c, root/main.c. ERR_NOT_FOUND when no root has it.
 */
enum err source_file_read(const char *const *roots, size_t root_count, struct str path,
			  struct buf *ret, struct fault *fault) MUST_CHECK;
