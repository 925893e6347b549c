/*
 * A file mapped for reading. Its owner can truncate it at any time; reading after its end then
 * raises SIGBUS. symbols_guard() (symbols.h) installs a handler that maps a page of zeros there
 * instead: readers see invalid data, which they must handle anyway, and `mapped_file_torn` reports
 * that the data is unusable.
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "base/str.h"

struct mapped_file {
	struct str bytes;
	int slot; /* index in the guard's table, -1 if that was full */
};

/* Maps a regular file of 1 to `ceiling` bytes. `path` is for messages. The caller keeps the
 * descriptor. */
enum err mapped_file_init(struct mapped_file *m, int fd, const char *path, uint64_t ceiling,
			  struct fault *fault) MUST_CHECK;
void mapped_file_release(struct mapped_file *m);
bool mapped_file_torn(const struct mapped_file *m);
/* Releases the pages; they are read again on demand. */
void mapped_file_trim(const struct mapped_file *m);
