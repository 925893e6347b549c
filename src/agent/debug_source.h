/*
 * Debug files that a worker cannot find itself: those that only root may read, and those of
 * processes with a file system of their own, which the agent opens for it; and, when servers are
 * configured, those that are fetched from debuginfod by a thread of its own. Nobody waits for it:
 * who asks gets a file that is here, or hears that one is on its way.
 *
 * The agent looks only at paths that it makes from a build id, below the debug directories, and
 * never into a file: workers read them.
 */
#pragma once

#include "agent/modules.h"

struct debug_source;

struct debug_source_options {
	const char *urls;	/* of debuginfod servers, with blanks between; NULL or "" = none */
	const char *directory;	/* where fetched files are kept; NULL = debug_source_folder() */
	u64 max_file, max_size; /* bytes of one, and of all: what was used longest ago goes; 0 = 512
				   MiB and 2 GiB */
	double timeout;		/* seconds for one file; 0 = 90 */
};

/* Without URLs `*ret` is NULL: only this machine is searched. */
enum err debug_source_new(const struct debug_source_options *o, struct debug_source **ret,
			  struct fault *fault) MUST_CHECK;
/* What is under way is given up. */
void debug_source_free(struct debug_source *s);
/* The usual place for fetched files: of root, or of a user; false when there is none. */
bool debug_source_folder(char *path, size_t size);

/*
 * The debug file of a build id (text) on this machine, as a process or else the host sees it; the
 * caller's to close, -1 when there is none. May take long: see prober.h.
 */
int debug_source_open(u32 pid, struct str build_id);
/* The one that was fetched, or -1; `*ret_pending`: it has been sent for. NULL fetches none. */
int debug_source_fetched(struct debug_source *s, const struct unwind_image *image,
			 bool *ret_pending);
/* Whether what was sent for is still on its way. */
bool debug_source_pending(struct debug_source *s, const struct unwind_image *image);
/* Until everything that was sent for is here or given up, or the time (monotonic) has come. */
void debug_source_wait(struct debug_source *s, int64_t deadline_ns);
