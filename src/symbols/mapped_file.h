/*
 * A file mapped for reading. Whoever owns the file can shorten it at any time, and the kernel then
 * answers a read behind its end with SIGBUS. symbols_guard() (symbols.h) installs a handler that
 * puts a page of zeros there instead: readers see nonsense, which they cope with anyway, and
 * `mapped_file_torn` tells that what was read is worth nothing.
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "base/str.h"

struct mapped_file {
	struct str bytes;
	int slot; /* of the guard's table, -1 when it was full */
};

/* Maps a regular file of 1 to `ceiling` bytes. `path` is for faults. The descriptor stays the
 * caller's. */
enum err mapped_file_init(struct mapped_file *m, int fd, const char *path, uint64_t ceiling,
			  struct fault *fault) MUST_CHECK;
void mapped_file_release(struct mapped_file *m);
bool mapped_file_torn(const struct mapped_file *m);
/* Gives the pages back to the kernel; they are read again when they are needed. */
void mapped_file_trim(const struct mapped_file *m);
