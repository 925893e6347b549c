/*
 * Debug files that a worker cannot open itself: those that only root may read, those of processes
 * with another root directory, and those fetched from debuginfod servers, if configured, by a
 * separate thread. Calls never wait for a fetch: they return an existing file, or report that one
 * is being fetched.
 *
 * The agent only opens paths made from a build id below the debug directories, and never reads the
 * files: workers do.
 */
#pragma once

#include "agent/modules.h"

struct debug_source;

struct debug_source_options {
	const char *urls;      /* of debuginfod servers, separated by blanks; NULL or "" = none */
	const char *directory; /* folder of fetched files; NULL = debug_source_folder() */
	u64 max_file,
		max_size; /* bytes per file, and in total (the least recently used are deleted); 0 = 512 MiB and 2 GiB */
	double timeout; /* seconds for one file; 0 = 90 */
};

/* Without URLs `*ret` is NULL: only this machine is searched. */
enum err debug_source_new(const struct debug_source_options *o, struct debug_source **ret,
			  struct fault *fault) MUST_CHECK;
/* Fetches in progress are aborted. */
void debug_source_free(struct debug_source *s);
/* The default folder of fetched files, of root or of a user; false if there is none. */
bool debug_source_folder(char *path, size_t size);

/*
 * The debug file of a build id (text) on this machine, in the root directory of a process, else of
 * the host. The caller closes it; -1 if there is none. May block for long: see prober.h.
 */
int debug_source_open(u32 pid, struct str build_id);
/* The fetched file, or -1; `*ret_pending`: it is being fetched. With NULL nothing is fetched. */
int debug_source_fetched(struct debug_source *s, const struct unwind_image *image,
			 bool *ret_pending);
/* Whether a fetch is in progress. */
bool debug_source_pending(struct debug_source *s, const struct unwind_image *image);
/* Waits until all fetches have finished or failed, or until the deadline (monotonic). */
void debug_source_wait(struct debug_source *s, int64_t deadline_ns);
