/*
 * Scrapes profiles of programs periodically, as configured (scrape_config.h).
 *
 * One thread starts the requests that are due, waits for all responses concurrently, and stores
 * each response before it takes the next. Targets are spread over the interval by the hash of their
 * address; a slow one is scraped again after it has responded.
 */
#pragma once

#include "base/jsonout.h"
#include "server/settings.h"

struct server;
struct scraper;

/* Takes over the settings on success. */
enum err scraper_new(struct server *s, struct server_settings *settings, struct scraper **ret,
		     struct fault *fault) MUST_CHECK;
/* Takes over counters and baselines of the same targets from another scraper, which must have been
 * stopped; this one must not be started. */
enum err scraper_inherit(struct scraper *s, struct scraper *old) MUST_CHECK;
enum err scraper_start(struct scraper *s) MUST_CHECK;
/* Aborts running requests. */
void scraper_stop(struct scraper *s);
/* Also stops it. NULL is allowed. */
void scraper_free(struct scraper *s);

/* For /metrics (empty tenant = all) and /api/v1/status. Thread safe. NULL is allowed. */
void scraper_print_metrics(struct scraper *s, struct str tenant, struct buf *out);
void scraper_put_status(struct scraper *s, struct str tenant, struct jsonout *o);
