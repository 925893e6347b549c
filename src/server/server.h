/*
 * The server: receives and stores profiles and answers queries. Other folders include only this
 * header.
 *
 * Uploads and queries run on worker threads (workers.h); the reply to an upload is sent when its
 * batch is durable. Without tokens the server only starts on loopback addresses, unless `insecure`
 * is set.
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
		bool optional; /* skipped if another program uses it: its address is then empty */
	} listen[SERVER_MAX_LISTEN];
	size_t listen_count;
	struct store_options store;
	struct http_options http;
	bool insecure;		  /* allow other hosts without tokens */
	bool trust_tenant_header; /* X-Scope-OrgID selects the tenant, if no token does */
	bool self_profile;	  /* store a CPU profile of this process */
	bool confine;		  /* drop privileges of this process (server_user.h) */
	const char
		*user; /* user of a server started by root; NULL = vestal, or an unprivileged uid */
	const char *backup_directory; /* folder of backups; NULL = only sent to clients */
	const char *cors_origin;      /* NULL = no other origin may read */
	/* Host names of this server, besides addresses and localhost; "*" = any. */
	const char *const *allowed_hosts;
	size_t allowed_host_count;
	const char *token_file;	 /* NULL = DIRECTORY/tokens, if that exists */
	const char *revision;	 /* source commit, for buildinfo; NULL = unknown */
	const char *config_file; /* scrape settings, read at the start and by server_reload */
	const char *const *source_roots; /* folders of source files that may be shown */
	size_t source_root_count;
	uint64_t symbols_max_file,
		symbols_max_size; /* limit of an uploaded file; of all of a tenant */
	const char *debuginfod;	  /* URLs of debuginfod servers, separated by blanks */
	uint64_t debuginfod_max_file, debuginfod_max_size;
	double debuginfod_timeout;
	size_t memory_limit;	  /* limit of the process; 0 = memory_limit_default() */
	size_t max_in_flight;	  /* limit of received bytes that are not stored yet */
	size_t max_inflated;	  /* of one upload */
	uint64_t tenant_rate;	  /* bytes per second and tenant; 0 = no limit */
	unsigned query_threads;	  /* 0 = one per CPU, at least two */
	int64_t query_timeout_ns; /* 0 = none */
	size_t query_memory;	  /* limit per query */
};
extern const struct server_options server_options_default;

/* Opens the store and the sockets, and starts. */
enum err server_start(const struct server_options *options, struct server **ret,
		      struct fault *fault) MUST_CHECK;
/* The actual address, "127.0.0.1:4040"; empty if it is optional and was in use. */
struct str server_address(const struct server *s, size_t index);
/* Reloads certificates and scrape settings. */
enum err server_reload(struct server *s, struct fault *fault) MUST_CHECK;
struct store *server_store(struct server *s);
/* Stores what was received, then stops and frees everything. */
void server_stop(struct server *s);
