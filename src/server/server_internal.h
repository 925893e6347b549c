/*
 * Inside the server: what all handlers share.
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
struct symbol_desk;
struct symbol_parts;

struct server {
	struct server_options options;
	struct store *store;
	struct http_server *http;
	struct tokens *tokens;	/* NULL = everybody may do everything, and nowhere is a file */
	struct audit *audit;	/* NULL = nowhere but in the log */
	struct mutex told_lock; /* store_events.c */
	struct workers *workers;
	struct memory_budget *memory;		  /* NULL in tests: nothing is charged */
	struct memory_account *connection_memory; /* of clients that are not known yet */
	struct memory_watch *memory_watch;
	struct metrics metrics;
	struct tenant_counts *counts; /* NULL = not counted */
	struct rate_limits *rates;
	struct agents *agents;		   /* who sends here */
	struct symbol_desk *symbols;	   /* names that come later */
	struct backups *backups;	   /* NULL = in tests, which make none */
	struct symbol_parts *parts;	   /* symbol files that are being sent */
	struct mutex scraper_lock;	   /* the one below changes when the file is read again */
	struct scraper *scraper;	   /* NULL = nobody is scraped */
	struct self_profile *self_profile; /* NULL = none is taken */
	struct server_user user;
	struct buf addresses[SERVER_MAX_LISTEN];
	int64_t started_ns;
};
