#include "server/settings.h"

#include "base/clock.h"
#include "base/quantity.h"
#include "server/server.h"

#define SET(path_, kind_, field_, ...) \
	CONFIG_ROW(path_, kind_, struct server_settings, field_, ##__VA_ARGS__)
#define COUNT .min = 1, .max = UINT32_MAX

static const struct config_option rows[] = {
	SET("data", TEXT, data),
	SET("listen", TEXT, listen),
	SET("otlp_grpc", TEXT, otlp_grpc),
	SET("otlp_http", TEXT, otlp_http),
	SET("retention", DURATION, retention_ns),
	SET("span_retention", DURATION, span_retention_ns),
	SET("service_retention", MAP, service_retention),
	SET("max_age", DURATION, max_age_ns),
	SET("max_size", SIZE, max_size),
	SET("memory_limit", SIZE, memory_limit),
	SET("query_timeout", DURATION, query_timeout_ns),
	SET("tenant_max_size", SIZE, tenant_max_size),
	SET("tenant_max_sizes", MAP, tenant_max_sizes),
	SET("tokens", TEXT, tokens),
	SET("insecure", BOOL, insecure),
	SET("trust_tenant_header", BOOL, trust_tenant_header),
	SET("cors", TEXT, cors),
	SET("self_profile", BOOL, self_profile),
	SET("tls.cert", TEXT, tls.certificate),
	SET("tls.key", TEXT, tls.key),
	SET("tls.client_ca", TEXT, tls.client_ca),
	SET("tls.require_client", BOOL, tls.require_client),
	SET("limits.max_body", SIZE, limits.max_body),
	SET("limits.max_in_flight", SIZE, limits.max_in_flight),
	SET("limits.max_inflated", SIZE, limits.max_inflated),
	SET("limits.query_memory", SIZE, limits.query_memory),
	SET("limits.tenant_rate", SIZE, limits.tenant_rate),
	SET("limits.min_upload_rate", SIZE, limits.min_upload_rate),
	SET("limits.min_read_rate", SIZE, limits.min_read_rate),
	SET("limits.write_timeout", DURATION, write_timeout_ns, .min = NS_PER_S,
	    .max = 3600 * NS_PER_S),
	SET("limits.max_connections", INT, limits.max_connections, .min = 16, .max = 1000000),
	SET("limits.tenant_connections", INT, limits.tenant_connections, .min = 1, .max = 1000000),
	SET("limits.max_series", INT, limits.max_series, COUNT),
	SET("limits.max_labels", INT, limits.max_labels, .min = 1, .max = 128),
	SET("limits.max_label_name", INT, limits.max_label_name, COUNT),
	SET("limits.max_label_value", INT, limits.max_label_value, COUNT),
	SET("limits.max_stack_depth", INT, limits.max_depth, COUNT),
	SET("symbols.max_file", SIZE, symbols.max_file),
	SET("symbols.max_size", SIZE, symbols.max_size),
	SET("debuginfod.urls", TEXT, debuginfod.urls),
	SET("debuginfod.max_file", SIZE, debuginfod.max_file),
	SET("debuginfod.max_size", SIZE, debuginfod.max_size),
	SET("debuginfod.timeout", DURATION, debuginfod.timeout_ns),
	SET("log.level", CHOICE, log_level, .choices = "debug info warn error off"),
	SET("log.format", CHOICE, log_format, .choices = "logfmt json"),
	SET("scrape_configs", ITEMS, scrape, .items = &scrape_job_table),
	{0},
};

static const struct config_table table = {rows, sizeof(struct server_settings), NULL, 0};

void settings_init(struct server_settings *s)
{
	const struct store_limits *l = &store_options_default.limits;

	*s = (struct server_settings){.retention_ns = 14 * 86400 * NS_PER_S,
				      .span_retention_ns = 3 * 86400 * NS_PER_S,
				      .log_level = "info",
				      .log_format = "logfmt"};
	s->limits.max_body = (size_t)64 << 20;
	s->limits.max_in_flight = server_options_default.max_in_flight;
	s->limits.max_inflated = server_options_default.max_inflated;
	s->limits.query_memory = server_options_default.query_memory;
	s->query_timeout_ns = server_options_default.query_timeout_ns;
	s->write_timeout_ns = HTTP_OPTIONS_DEFAULT.write_timeout_ns;
	s->limits.min_upload_rate = HTTP_OPTIONS_DEFAULT.min_body_rate;
	s->limits.min_read_rate = HTTP_OPTIONS_DEFAULT.min_reply_rate;
	s->limits.max_connections = HTTP_OPTIONS_DEFAULT.max_connections;
	s->limits.tenant_connections = s->limits.max_connections - s->limits.max_connections / 4;
	s->limits.max_series = l->max_series;
	s->limits.max_labels = l->max_labels;
	s->limits.max_label_name = l->max_label_name;
	s->limits.max_label_value = l->max_label_value;
	s->limits.max_depth = l->max_depth;
	s->symbols.max_file = server_options_default.symbols_max_file;
	s->symbols.max_size = server_options_default.symbols_max_size;
	s->debuginfod.max_file = server_options_default.debuginfod_max_file;
	s->debuginfod.max_size = server_options_default.debuginfod_max_size;
	s->debuginfod.timeout_ns = 90 * NS_PER_S;
}

enum err settings_add_override(struct server_settings *s, struct str service, int64_t retention_ns,
			       struct fault *fault)
{
	for (size_t i = 0; i < s->override_count; i++)
		if (str_eq(s->overrides[i].service, service))
			return ERR_OK;
	if (s->override_count == SETTINGS_MAX_OVERRIDES)
		return fault_set(fault, ERR_TOO_LARGE, "more than %d services have a time",
				 SETTINGS_MAX_OVERRIDES);
	s->overrides[s->override_count++] = (struct service_retention){service, retention_ns};
	return ERR_OK;
}

static enum err add_overrides(struct server_settings *s, const char *path, struct fault *fault)
{
	for (size_t i = 0; i < s->service_retention.n; i++) {
		const struct config_pair *pair = &s->service_retention.v[i];
		int64_t ns;

		if (duration_parse(str_of(pair->value), &ns, NULL))
			return fault_set(fault, ERR_BAD_ARGUMENT,
					 "%.60s: service_retention of %.60s is no time such as 14d",
					 path, pair->name);
		TRY(settings_add_override(s, str_of(pair->name), ns, fault));
	}
	return ERR_OK;
}

enum err settings_add_tenant_size(struct server_settings *s, struct str tenant, uint64_t max_size,
				  struct fault *fault)
{
	for (size_t i = 0; i < s->tenant_size_count; i++)
		if (str_eq(s->tenant_sizes[i].tenant, tenant))
			return ERR_OK;
	if (s->tenant_size_count == SETTINGS_MAX_OVERRIDES)
		return fault_set(fault, ERR_TOO_LARGE, "more than %d tenants have a size",
				 SETTINGS_MAX_OVERRIDES);
	s->tenant_sizes[s->tenant_size_count++] = (struct tenant_size){tenant, max_size};
	return ERR_OK;
}

static enum err add_tenant_sizes(struct server_settings *s, const char *path, struct fault *fault)
{
	for (size_t i = 0; i < s->tenant_max_sizes.n; i++) {
		const struct config_pair *pair = &s->tenant_max_sizes.v[i];
		size_t size;

		if (!tenant_valid(str_of(pair->name)))
			return fault_set(fault, ERR_BAD_ARGUMENT,
					 "%.60s: tenant_max_sizes: %.60s is no name of a tenant",
					 path, pair->name);
		if (size_parse(str_of(pair->value), &size))
			return fault_set(fault, ERR_BAD_ARGUMENT,
					 "%.60s: tenant_max_sizes of %.60s is no size such as 10GB",
					 path, pair->name);
		TRY(settings_add_tenant_size(s, str_of(pair->name), size, fault));
	}
	return ERR_OK;
}

enum err settings_load(struct server_settings *s, const char *path, struct fault *fault)
{
	TRY(config_open(path, &s->config, fault));
	TRY(config_read(s->config, &table, s, fault));
	TRY(scrape_jobs_check(s->scrape.v, s->scrape.n, path, fault));
	TRY(add_tenant_sizes(s, path, fault));
	return add_overrides(s, path, fault);
}

void settings_release(struct server_settings *s)
{
	config_free(s->config);
	s->config = NULL;
}

/* Accept profiles as old as the longest retention. */
static int64_t usual_max_age(const struct server_settings *s)
{
	int64_t age = store_options_default.limits.max_age_ns;

	if (s->retention_ns > age)
		age = s->retention_ns;
	for (size_t i = 0; i < s->override_count; i++)
		if (s->overrides[i].retention_ns > age)
			age = s->overrides[i].retention_ns;
	return age;
}

void settings_apply(const struct server_settings *s, struct server_options *o)
{
	struct store_limits *l = &o->store.limits;

	o->store.retention_ns = s->retention_ns;
	o->store.span_retention_ns = s->span_retention_ns;
	o->store.max_size = s->max_size;
	o->store.tenant_max_size = s->tenant_max_size;
	o->store.tenant_sizes = s->tenant_sizes;
	o->store.tenant_size_count = s->tenant_size_count;
	o->store.overrides = s->overrides;
	o->store.override_count = s->override_count;
	o->token_file = s->tokens;
	o->cors_origin = s->cors;
	o->insecure = s->insecure;
	o->trust_tenant_header = s->trust_tenant_header;
	o->self_profile = s->self_profile;
	o->http.tls = (struct tls_options){s->tls.certificate, s->tls.key, s->tls.client_ca,
					   s->tls.require_client};
	o->http.max_body = s->limits.max_body;
	o->http.min_body_rate = s->limits.min_upload_rate;
	o->http.min_reply_rate = s->limits.min_read_rate;
	o->http.write_timeout_ns = s->write_timeout_ns;
	o->http.max_connections = (unsigned)s->limits.max_connections;
	o->http.max_per_client = (unsigned)s->limits.tenant_connections;
	o->memory_limit = s->memory_limit;
	o->query_timeout_ns = s->query_timeout_ns;
	o->max_in_flight = s->limits.max_in_flight;
	o->max_inflated = s->limits.max_inflated;
	o->query_memory = s->limits.query_memory;
	o->tenant_rate = s->limits.tenant_rate;
	o->symbols_max_file = s->symbols.max_file;
	o->symbols_max_size = s->symbols.max_size;
	o->debuginfod = s->debuginfod.urls;
	o->debuginfod_max_file = s->debuginfod.max_file;
	o->debuginfod_max_size = s->debuginfod.max_size;
	o->debuginfod_timeout = (double)s->debuginfod.timeout_ns / NS_PER_S;
	l->max_series = (uint32_t)s->limits.max_series;
	l->max_labels = (uint32_t)s->limits.max_labels;
	l->max_label_name = (uint32_t)s->limits.max_label_name;
	l->max_label_value = (uint32_t)s->limits.max_label_value;
	l->max_depth = (uint32_t)s->limits.max_depth;
	l->max_age_ns = s->max_age_ns ? s->max_age_ns : usual_max_age(s);
}
