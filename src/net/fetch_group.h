/*
 * Many URLs at once, on the one thread that calls fetch_group_run: for those who wait most of the
 * time, like a scraper.
 */
#pragma once

#include "net/fetch.h"

struct fetch_group;

/* `most_bytes` is what all answers under way may hold together. */
enum err fetch_group_new(size_t most_bytes, struct fetch_group **ret,
			 struct fault *fault) MUST_CHECK;
/*
 * Begins one. The request with all its texts and the buffer must stay until `done` was called,
 * exactly once and from fetch_group_run, or until the group is freed. When this fails, `done` is
 * not called.
 */
enum err fetch_group_start(struct fetch_group *g, const struct fetch *request, struct buf *body,
			   void (*done)(void *context, enum err error, const struct fault *fault),
			   void *context, struct fault *fault) MUST_CHECK;
size_t fetch_group_running(const struct fetch_group *g);
/* Does what there is to do, waiting for it at most that long. */
enum err fetch_group_run(struct fetch_group *g, int64_t wait_ns, struct fault *fault) MUST_CHECK;
/* Ends the wait of fetch_group_run, from any thread. */
void fetch_group_wake(struct fetch_group *g);
/* Breaks off what is under way. NULL is fine. */
void fetch_group_free(struct fetch_group *g);
