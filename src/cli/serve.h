/*
 * Running a server until somebody ends it: SIGINT and SIGTERM stop it, SIGHUP loads certificates
 * and tokens again. Returns an exit status.
 */
#pragma once

#include "cli/command.h"
#include "server/server.h"

#define SERVE_LISTEN	     "127.0.0.1:4040"
#define SERVE_OTLP_GRPC	     "127.0.0.1:4317"
#define SERVE_OTLP_HTTP	     "127.0.0.1:4318"
#define SERVE_DATA	     "vestal-data"
#define SERVE_RETENTION_DAYS 14

/* "--memory 512M": the flag means something else. */
int serve_memory_usage(const struct invocation *in);
void serve_log(const char *level, const char *style);
/* One more address; "none" is none. */
void serve_address(struct server_options *s, const char *address, const char *kind);
/* One of OTLP that the server can do without: it warns when another program has it. */
void serve_optional_address(struct server_options *s, const char *address, const char *kind);

/* What else is to be done when the server has begun, with its first address, and before it ends. */
struct serve_hooks {
	void (*started)(const struct common_options *common, struct str address);
	void (*stopping)(void);
};

/* `hooks` may be NULL. */
int serve(const struct common_options *common, const struct server_options *options,
	  const struct serve_hooks *hooks);
