/*
 * Debug files that are fetched from elsewhere, one after the other, by a thread of its own, into a
 * shelf. Nobody waits for it: who asks is told whether the file is here, on its way, or not to be
 * had. What nobody has is not asked for again for an hour, what failed for a while.
 */
#pragma once

#include "symbols/symbol_shelf.h"

struct debug_fetcher;

struct fetcher_options {
	struct symbol_shelf *shelf; /* stays the caller's and outlives the fetcher */
	/* Writes the debug file into `fd`; on the fetcher's thread. ERR_NOT_FOUND: nobody has it.
	 */
	enum err (*get)(void *context, const char *build_id, int fd, struct fault *fault);
	/* What became of one; may be NULL. On the fetcher's thread. */
	void (*tell)(void *context, const char *build_id, enum err error,
		     const struct fault *fault);
	void *context;
};

enum fetch_state { FETCH_HERE, FETCH_PENDING, FETCH_REFUSED };

enum err debug_fetcher_new(const struct fetcher_options *o, struct debug_fetcher **ret) MUST_CHECK;
/* Waits for what is under way: `get` must have been told to stop. */
void debug_fetcher_free(struct debug_fetcher *f);
enum fetch_state debug_fetcher_ask(struct debug_fetcher *f, struct str build_id);
/* Until all that was asked for has come or failed; false when the time (monotonic) comes first. */
bool debug_fetcher_wait(struct debug_fetcher *f, int64_t deadline_ns);
