/*
 * A client of debuginfod servers, which have debug files and sources by build id. Servers are tried
 * in order; one that is unreachable or too slow is skipped for a while. Thread safe.
 */
#pragma once

#include "net/fetch.h"

struct debuginfod;

struct debuginfod_options {
	const char *urls;	 /* separated by blanks, as in DEBUGINFOD_URLS */
	uint64_t max_file;	 /* bytes; 0 = 512 MiB */
	double timeout;		 /* seconds for one file; 0 = 90 */
	const atomic_bool *stop; /* aborts the current transfer; or NULL */
};

/* Without any URL: ERR_OK, with `*ret` NULL. */
enum err debuginfod_new(const struct debuginfod_options *o, struct debuginfod **ret,
			struct fault *fault) MUST_CHECK;
void debuginfod_free(struct debuginfod *d);
/*
 * Writes the debug file of a build id (hexadecimal) to `fd`. ERR_NOT_FOUND: no server has it;
 * ERR_UNAVAILABLE: a server that may have it does not respond.
 */
enum err debuginfod_debug_file(struct debuginfod *d, const char *build_id, int fd,
			       struct fault *fault) MUST_CHECK;
/* Appends the text of a source file, given by its absolute path in debug information. */
enum err debuginfod_source(struct debuginfod *d, const char *build_id, struct str path,
			   struct buf *ret, struct fault *fault) MUST_CHECK;
