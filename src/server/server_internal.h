/*
 * Inside the server: what all handlers share.
 */
#pragma once

#include "base/thread.h"
#include "server/audit.h"
#include "server/metrics.h"
#include "server/server.h"
#include "server/tokens.h"
#include "server/workers.h"

struct agents;
struct scraper;
struct self_profile;
struct symbol_desk;
struct symbol_parts;

struct server {
	struct server_options options;
	struct store *store;
	struct http_server *http;
	_Atomic(struct tokens *) tokens; /* NULL = everybody may do everything */
	struct audit *audit;		 /* NULL = nowhere but in the log */
	struct mutex told_lock;		 /* store_events.c */
	struct workers *workers;
	struct metrics metrics;
	struct rate_limits *rates;
	struct agents *agents;		   /* who sends here */
	struct symbol_desk *symbols;	   /* names that come later */
	struct symbol_parts *parts;	   /* symbol files that are being sent */
	struct mutex scraper_lock;	   /* the one below changes when the file is read again */
	struct scraper *scraper;	   /* NULL = nobody is scraped */
	struct self_profile *self_profile; /* NULL = none is taken */
	struct buf addresses[SERVER_MAX_LISTEN];
	_Atomic size_t in_flight;
	int64_t started_ns;
};
