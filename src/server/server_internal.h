/*
 * Private to the server: shared by all handlers.
 */
#pragma once

#include "base/thread.h"
#include "server/audit.h"
#include "server/backups.h"
#include "server/metrics.h"
#include "server/server.h"
#include "server/server_user.h"
#include "server/tenant_counts.h"
#include "server/tokens.h"
#include "server/workers.h"

struct agents;
struct memory_watch;
struct scraper;
struct self_profile;
struct symbol_sources;
struct symbol_parts;

struct server {
	struct server_options options;
	struct store *store;
	struct http_server *http;
	struct tokens *tokens;	/* NULL = no access control, and no token file */
	struct audit *audit;	/* NULL = only the normal log */
	struct mutex told_lock; /* store_events.c */
	struct workers *workers;
	struct memory_budget *memory;		  /* NULL in tests: nothing is charged */
	struct memory_account *connection_memory; /* for clients that are not known yet */
	struct memory_watch *memory_watch;
	struct metrics metrics;
	struct tenant_counts *counts; /* NULL = not counted */
	struct rate_limits *rates;
	struct agents *agents;		   /* agents that send data */
	struct symbol_sources *symbols;	   /* symbols for late symbolization */
	struct backups *backups;	   /* NULL in tests */
	struct symbol_parts *parts;	   /* symbol files being uploaded */
	struct mutex scraper_lock;	   /* guards `scraper`, which a reload replaces */
	struct scraper *scraper;	   /* NULL = no targets */
	struct self_profile *self_profile; /* NULL = off */
	struct server_user user;
	struct buf addresses[SERVER_MAX_LISTEN];
	int64_t started_ns;
};
