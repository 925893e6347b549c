/*
 * The server: receives, keeps, answers. Other folders include this header only.
 *
 * Receivers run on the event loops and hand their batch to the store; the reply goes out when the
 * batch is durable. Questions run on a few threads of their own. Off loopback it does not start
 * without tokens unless told that this is meant.
 */
#pragma once

#include "net/net.h"
#include "server/settings.h"
#include "server/tokens.h"
#include "store/store.h"

struct server;

#define SERVER_MAX_LISTEN 8

struct server_options {
	/* Addresses as http_server_listen takes them. `kind` is only for messages: all addresses
	 * serve everything, so that an exporter may send to any of them. */
	struct server_listen {
		const char *address;
		const char *kind; /* "ui and api", "otlp grpc", "otlp http" */
		bool optional;	  /* left out when another program has it: its address is empty */
	} listen[SERVER_MAX_LISTEN];
	size_t listen_count;
	struct store_options store;
	struct http_options http;
	bool insecure;		  /* no tokens although others than this host can reach it */
	bool trust_tenant_header; /* X-Scope-OrgID chooses the tenant when no token does */
	bool self_profile;	  /* store a CPU profile of this very process */
	bool confine;	  /* this process: what it does not need is given away (server_user.h) */
	const char *user; /* whom root's server becomes; NULL = vestal, or a number without
			     privileges */
	const char
		*backup_directory; /* below it backups are written; NULL = only sent to clients */
	const char *cors_origin;   /* NULL = no other origin may read */
	/* Names by which others ask for this server, beside addresses and localhost; "*" = any. */
	const char *const *allowed_hosts;
	size_t allowed_host_count;
	const char *token_file;	 /* NULL = DIRECTORY/tokens when that exists */
	const char *revision;	 /* of the source, for buildinfo; NULL = unknown */
	const char *config_file; /* whom to scrape, read at the start and by server_reload */
	const char *const *source_roots; /* below these is text of source files that may be shown */
	size_t source_root_count;
	uint64_t symbols_max_file, symbols_max_size; /* of one that was sent; of all of a tenant */
	const char *debuginfod; /* URLs with blanks between, asked for debug files and sources */
	uint64_t debuginfod_max_file, debuginfod_max_size;
	double debuginfod_timeout;
	size_t memory_limit;	  /* of the whole process; 0 = memory_limit_default() */
	size_t max_in_flight;	  /* bytes of bodies that have arrived and are not stored yet */
	size_t max_inflated;	  /* of one upload */
	uint64_t tenant_rate;	  /* bytes a second of a tenant, 0 = any */
	unsigned query_threads;	  /* 0 = one per processor, at least two */
	int64_t query_timeout_ns; /* 0 = none */
	size_t query_memory;	  /* of one question */
};
extern const struct server_options server_options_default;

/* Opens the store and the sockets and starts. */
enum err server_start(const struct server_options *options, struct server **ret,
		      struct fault *fault) MUST_CHECK;
/* What an address became, "127.0.0.1:4040"; empty when it is optional and was taken. */
struct str server_address(const struct server *s, size_t index);
/* New certificates; whom to scrape, as the file says now. */
enum err server_reload(struct server *s, struct fault *fault) MUST_CHECK;
struct store *server_store(struct server *s);
/* Finishes what was received, then stops; frees everything. */
void server_stop(struct server *s);
