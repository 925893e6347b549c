/*
 * A client of debuginfod servers: files that others have built, by build id. Servers are asked in
 * order; one that nobody answers at, or that is too slow, is left alone for a while. Any thread may
 * ask.
 */
#pragma once

#include "net/fetch.h"

struct debuginfod;

struct debuginfod_options {
	const char *urls;	 /* with blanks between, as in DEBUGINFOD_URLS */
	uint64_t max_file;	 /* bytes; 0 = 512 MiB */
	double timeout;		 /* seconds for one file; 0 = 90 */
	const atomic_bool *stop; /* ends what is under way; or NULL */
};

/* No URL among the URLs: ERR_OK and `*ret` NULL, which nobody asks. */
enum err debuginfod_new(const struct debuginfod_options *o, struct debuginfod **ret,
			struct fault *fault) MUST_CHECK;
void debuginfod_free(struct debuginfod *d);
/*
 * Writes the debug file of a build id (hexadecimal) into `fd`. ERR_NOT_FOUND: no server has it;
 * ERR_UNAVAILABLE: none that may have it answers now.
 */
enum err debuginfod_debug_file(struct debuginfod *d, const char *build_id, int fd,
			       struct fault *fault) MUST_CHECK;
/* Appends the text of a source file, by the absolute path that debug information has. */
enum err debuginfod_source(struct debuginfod *d, const char *build_id, struct str path,
			   struct buf *ret, struct fault *fault) MUST_CHECK;
