/*
 * Fetches debug files in a separate thread, one after the other, into a store. Requests never wait:
 * they report whether the file is available, being fetched, or not available. A file that no server
 * has is not requested again for an hour; after other failures, for a shorter time.
 */
#pragma once

#include "symbols/symbol_store.h"

struct debug_fetcher;

struct fetcher_options {
	struct symbol_store *store; /* owned by the caller; must outlive the fetcher */
	/* Writes the debug file into `fd`; on the fetcher's thread. ERR_NOT_FOUND: no server has
	 * it.
	 */
	enum err (*get)(void *context, const char *build_id, int fd, struct fault *fault);
	/* Reports the result of a fetch; may be NULL. Called on the fetcher's thread. */
	void (*tell)(void *context, const char *build_id, enum err error,
		     const struct fault *fault);
	void *context;
};

enum fetch_state { FETCH_HERE, FETCH_PENDING, FETCH_REFUSED };

enum err debug_fetcher_new(const struct fetcher_options *o, struct debug_fetcher **ret) MUST_CHECK;
/* Waits for the current fetch, which the caller must abort. */
void debug_fetcher_free(struct debug_fetcher *f);
enum fetch_state debug_fetcher_ask(struct debug_fetcher *f, struct str build_id);
/* Waits until all requests have finished; false if the deadline (monotonic) comes first. */
bool debug_fetcher_wait(struct debug_fetcher *f, int64_t deadline_ns);
