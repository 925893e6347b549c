/*
 * The server's settings file (--config): the command-line options under the same names, and scrape
 * settings. docs/config.md documents every key.
 */
#pragma once

#include "config/config.h"
#include "server/scrape_config.h"
#include "store/store.h"

#define SETTINGS_MAX_OVERRIDES 1000

struct server_settings {
	struct config *config; /* holds all strings; NULL = no file */
	const char *data, *listen, *otlp_grpc, *otlp_http;
	int64_t retention_ns, span_retention_ns;
	int64_t max_age_ns; /* 0 = not set */
	size_t max_size, tenant_max_size;
	size_t memory_limit; /* 0 = what there is decides */
	int64_t query_timeout_ns, write_timeout_ns;
	struct config_map service_retention, tenant_max_sizes;
	struct service_retention overrides[SETTINGS_MAX_OVERRIDES];
	size_t override_count;
	struct tenant_size tenant_sizes[SETTINGS_MAX_OVERRIDES];
	size_t tenant_size_count;
	const char *tokens, *cors;
	bool insecure, trust_tenant_header, self_profile;
	struct {
		const char *certificate, *key, *client_ca;
		bool require_client;
	} tls;
	struct {
		size_t max_body, max_in_flight, max_inflated, query_memory, tenant_rate;
		size_t min_upload_rate, min_read_rate;
		int64_t max_connections, tenant_connections;
		int64_t max_series, max_labels, max_label_name, max_label_value, max_depth;
	} limits;
	struct {
		size_t max_file, max_size;
	} symbols;
	struct {
		const char *urls;
		size_t max_file, max_size;
		int64_t timeout_ns;
	} debuginfod;
	const char *log_level, *log_format;
	struct config_items scrape; /* of struct scrape_job */
};

/* Sets the defaults. */
void settings_init(struct server_settings *s);
/* Applies the settings of the file; others are unchanged. */
enum err settings_load(struct server_settings *s, const char *path, struct fault *fault) MUST_CHECK;
/* Adds a retention for one service; the first entry of a service counts. */
enum err settings_add_override(struct server_settings *s, struct str service, int64_t retention_ns,
			       struct fault *fault) MUST_CHECK;
/* Adds a limit for one tenant; the first entry of a tenant counts. */
enum err settings_add_tenant_size(struct server_settings *s, struct str tenant, uint64_t max_size,
				  struct fault *fault) MUST_CHECK;
void settings_release(struct server_settings *s);

struct server_options;
/* Sets all server options except addresses and directory. Strings remain owned by the settings. */
void settings_apply(const struct server_settings *s, struct server_options *options);
