/*
 * Fetches many URLs concurrently on one thread, the caller of fetch_group_run; for the scraper.
 */
#pragma once

#include "net/fetch.h"

struct fetch_group;

/* `most_bytes` limits the memory of all unfinished responses. */
enum err fetch_group_new(size_t most_bytes, struct fetch_group **ret,
			 struct fault *fault) MUST_CHECK;
/*
 * Starts a transfer. The request, its strings and the buffer must stay valid until `done` is
 * called, exactly once, by fetch_group_run, or until the group is freed. If this fails, `done` is
 * not called.
 */
enum err fetch_group_start(struct fetch_group *g, const struct fetch *request, struct buf *body,
			   void (*done)(void *context, enum err error, const struct fault *fault),
			   void *context, struct fault *fault) MUST_CHECK;
size_t fetch_group_running(const struct fetch_group *g);
/* Processes transfers, waiting at most that long. */
enum err fetch_group_run(struct fetch_group *g, int64_t wait_ns, struct fault *fault) MUST_CHECK;
/* Interrupts fetch_group_run. Thread safe. */
void fetch_group_wake(struct fetch_group *g);
/* Aborts all transfers. NULL is allowed. */
void fetch_group_free(struct fetch_group *g);
