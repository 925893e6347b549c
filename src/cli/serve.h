/*
 * Runs a server until SIGINT or SIGTERM; SIGHUP reloads certificates and settings. Returns an exit
 * status.
 */
#pragma once

#include "cli/command.h"
#include "server/server.h"

#define SERVE_LISTEN	     "127.0.0.1:4040"
#define SERVE_OTLP_GRPC	     "127.0.0.1:4317"
#define SERVE_OTLP_HTTP	     "127.0.0.1:4318"
#define SERVE_DATA	     "vestal-data"
#define SERVE_RETENTION_DAYS 14

/* Detects "--memory 512M", a mistake for --memory-limit. */
int serve_memory_usage(const struct invocation *in);
void serve_log(const char *level, const char *style);
/* Adds an address; "none" adds nothing. */
void serve_address(struct server_options *s, const char *address, const char *kind);
/* Adds an optional OTLP address: the server only warns if another program uses it. */
void serve_optional_address(struct server_options *s, const char *address, const char *kind);

/* Called after the server has started, with its first address, and before it stops. */
struct serve_hooks {
	void (*started)(const struct common_options *common, struct str address);
	void (*stopping)(void);
};

/* `hooks` may be NULL. */
int serve(const struct common_options *common, const struct server_options *options,
	  const struct serve_hooks *hooks);
