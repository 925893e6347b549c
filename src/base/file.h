/*
 * Whole files in, whole files out.
 *
 * Reading is bounded: the buffer's ceiling is the largest file that is accepted. Writing is all or
 * nothing: bytes go to a temporary file in the same directory, which output_commit renames, so that
 * no reader sees a partial file and a full disk leaves no partial file.
 *
 *	CLEANUP(output_release) struct output o = {0};
 *
 *	TRY(output_open(&o, path, 0, fault));
 *	TRY(output_write(&o, bytes, fault));
 *	return output_commit(&o, fault);
 *
 * Faults name the path, the reason and what to do. A fault may be NULL.
 */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

/* Appends the file to `ret`, at most up to its ceiling; on failure `ret` is as it was. */
enum err file_read(const char *path, struct buf *ret, struct fault *fault) MUST_CHECK;
/* The same from a descriptor, read to its end (a pipe, a terminal, /proc); `name` is for faults. */
enum err file_read_fd(int fd, const char *name, struct buf *ret, struct fault *fault) MUST_CHECK;

enum output_flags {
	OUTPUT_FORCE = 1,   /* replace an existing file */
	OUTPUT_NO_SYNC = 2, /* do not wait for the disk: for files that can be made again */
	OUTPUT_PRIVATE = 4, /* mode 0600, even if the replaced file had more permissions */
};

#define OUTPUT_PATH_MAX 4096

/* All zero is a closed output. */
struct output {
	bool open;
	int fd;
	int slot;	/* its place in the list of unfinished outputs; -1 when written in place */
	unsigned flags; /* enum output_flags */
	char path[OUTPUT_PATH_MAX];
};

/*
 * Opens. Without OUTPUT_FORCE an existing file is ERR_EXISTS, here and, without a race, in
 * output_commit. An existing file that is not regular (/dev/null, a pipe) is written to directly. A
 * symbolic link is followed: the file it points to is replaced.
 */
enum err output_open(struct output *o, const char *path, unsigned flags,
		     struct fault *fault) MUST_CHECK;
enum err output_write(struct output *o, struct str bytes, struct fault *fault) MUST_CHECK;
/* Renames the file to its final name. Closes the output, also on failure. */
enum err output_commit(struct output *o, struct fault *fault) MUST_CHECK;
/* Removes the temporary file of an output that was not committed; otherwise does nothing. */
void output_release(struct output *o);
/* Removes the temporary files of all unfinished outputs. Safe in a signal handler. */
void output_abort_all(void);

/* Opens, writes and commits. */
enum err file_write(const char *path, struct str bytes, unsigned flags,
		    struct fault *fault) MUST_CHECK;

/* Writes all of it to a descriptor; continues after short writes and signals. */
enum err write_all(int fd, const void *data, size_t n) MUST_CHECK;
