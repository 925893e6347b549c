/*
 * Asks programs for their profiles on an interval, as the server's file says (scrape_config.h).
 *
 * One thread does it all: it begins what is due, waits for the answers of all targets at once, and
 * stores each answer before it takes the next. Targets are spread over the interval by the hash of
 * their address, so that they are not asked all at the same moment; one that is slow is asked
 * again when it has answered, never twice at a time.
 */
#pragma once

#include "base/jsonout.h"
#include "server/settings.h"

struct server;
struct scraper;

/* Takes the settings over when it succeeds, and then frees them at its end. */
enum err scraper_new(struct server *s, struct server_settings *settings, struct scraper **ret,
		     struct fault *fault) MUST_CHECK;
/* What another one knew of the same targets: counters, and what to subtract. The other must have
 * been stopped, this one not started. */
enum err scraper_inherit(struct scraper *s, struct scraper *old) MUST_CHECK;
enum err scraper_start(struct scraper *s) MUST_CHECK;
/* Breaks off what is under way. */
void scraper_stop(struct scraper *s);
/* Stops too. NULL is fine. */
void scraper_free(struct scraper *s);

/* For /metrics (an empty tenant is all of them) and /api/v1/status, on any thread. NULL is fine. */
void scraper_print_metrics(struct scraper *s, struct str tenant, struct buf *out);
void scraper_put_status(struct scraper *s, struct str tenant, struct jsonout *o);
