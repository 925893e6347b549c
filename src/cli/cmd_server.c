/*
 * vestal server: receive, keep and answer, on one directory.
 */
#include "cli/serve.h"
#include "query/query.h"

struct server_cli_options {
	struct common_options common;
	const char *data, *listen, *otlp_grpc, *otlp_http;
	const char *retention, *span_retention, *max_age;
	struct text_list service_retention;
	struct text_list tenant_sizes;
	size_t max_size, tenant_max_size, max_body, max_in_flight, memory_limit, min_upload_rate;
	const char *query_timeout;
	bool memory, insecure, trust_tenant_header, self_profile;
	const char *tokens, *cors;
	const char *certificate, *key, *client_ca;
	bool require_client;
	const char *log_level, *log_style;
	const char *config;
	struct text_list source_roots, allowed_hosts;
	const char *user, *backup_dir;
	const char *debuginfod;
};

static const struct option table[] = {
	{"config", 'c', OPT_TEXT, "FILE",
	 "settings and scrape targets (YAML); options take precedence",
	 AT(struct server_cli_options, config), NULL},
	{"data", 'd', OPT_TEXT, "DIR", "keep everything in DIR (./vestal-data)",
	 AT(struct server_cli_options, data), NULL},
	{"memory", 0, OPT_FLAG, NULL, "keep nothing on disk: all data is lost on exit",
	 AT(struct server_cli_options, memory), NULL},
	{"memory-limit", 0, OPT_SIZE, "SIZE",
	 "the server's memory budget (three quarters of its cgroup's, else a quarter of the "
	 "machine's)",
	 AT(struct server_cli_options, memory_limit), NULL},
	{"query-timeout", 0, OPT_TEXT, "TIME", "stop queries that take longer (30s); 0 = never",
	 AT(struct server_cli_options, query_timeout), NULL},
	{"listen", 'l', OPT_TEXT, "ADDRESS", "API and pages (127.0.0.1:4040)",
	 AT(struct server_cli_options, listen), NULL},
	{"otlp-grpc", 0, OPT_TEXT, "ADDRESS", "OTLP over gRPC (127.0.0.1:4317); none = off",
	 AT(struct server_cli_options, otlp_grpc), NULL},
	{"otlp-http", 0, OPT_TEXT, "ADDRESS", "OTLP over HTTP (127.0.0.1:4318); none = off",
	 AT(struct server_cli_options, otlp_http), NULL},
	{"source-root", 0, OPT_LIST, "DIR",
	 "show source files below DIR to users who may query; can be repeated",
	 AT(struct server_cli_options, source_roots), NULL},
	{"debuginfod", 0, OPT_TEXT, "URLS",
	 "ask these servers for debug files and sources by build id",
	 AT(struct server_cli_options, debuginfod), NULL},
	{"backup-dir", 0, OPT_TEXT, "DIR",
	 "allow operators to write backups into new directories below DIR",
	 AT(struct server_cli_options, backup_dir), NULL},
	{"self-profile", 0, OPT_FLAG, NULL,
	 "store a CPU profile of the server too, as service vestal",
	 AT(struct server_cli_options, self_profile), NULL},
	{0},
};

static const struct option keep_table[] = {
	{"retention", 0, OPT_TEXT, "TIME", "delete profiles older than TIME (14d); 0 = never",
	 AT(struct server_cli_options, retention), NULL},
	{"service-retention", 0, OPT_LIST, "NAME=TIME", "another retention for one service",
	 AT(struct server_cli_options, service_retention), NULL},
	{"span-retention", 0, OPT_TEXT, "TIME", "delete spans of traces older than TIME (3d)",
	 AT(struct server_cli_options, span_retention), NULL},
	{"max-age", 0, OPT_TEXT, "TIME",
	 "refuse profiles that began longer ago (30d, or the longest retention)",
	 AT(struct server_cli_options, max_age), NULL},
	{"max-size", 0, OPT_SIZE, "SIZE",
	 "limit for all data on disk: above it, delete the oldest data of tenants above their fair "
	 "share",
	 AT(struct server_cli_options, max_size), NULL},
	{"tenant-max-size", 0, OPT_SIZE, "SIZE",
	 "limit per tenant: above it, delete the tenant's oldest data",
	 AT(struct server_cli_options, tenant_max_size), NULL},
	{"tenant-size", 0, OPT_LIST, "NAME=SIZE", "another limit for one tenant",
	 AT(struct server_cli_options, tenant_sizes), NULL},
	{"max-body", 0, OPT_SIZE, "SIZE", "refuse uploads above SIZE (64MiB)",
	 AT(struct server_cli_options, max_body), NULL},
	{"max-in-flight", 0, OPT_SIZE, "SIZE", "limit for all uploads being received (128MiB)",
	 AT(struct server_cli_options, max_in_flight), NULL},
	{"min-upload-rate", 0, OPT_SIZE, "SIZE",
	 "refuse uploads with fewer bytes per second (4KiB)",
	 AT(struct server_cli_options, min_upload_rate), NULL},
	{0},
};

static const struct option trust_table[] = {
	{"insecure", 0, OPT_FLAG, NULL, "accept all requests, also from other hosts",
	 AT(struct server_cli_options, insecure), NULL},
	{"tokens", 0, OPT_TEXT, "FILE", "token file (DIR/tokens)",
	 AT(struct server_cli_options, tokens), NULL},
	{"user", 0, OPT_TEXT, "USER",
	 "user to become when started by root (vestal, or 60590 if there is none); root = stay "
	 "root",
	 AT(struct server_cli_options, user), NULL},
	{"trust-tenant-header", 0, OPT_FLAG, NULL, "take the tenant from X-Scope-OrgID",
	 AT(struct server_cli_options, trust_tenant_header), NULL},
	{"tls-cert", 0, OPT_TEXT, "FILE", "serve TLS with this certificate (PEM)",
	 AT(struct server_cli_options, certificate), NULL},
	{"tls-key", 0, OPT_TEXT, "FILE", "and this key", AT(struct server_cli_options, key), NULL},
	{"tls-client-ca", 0, OPT_TEXT, "FILE", "verify client certificates with these",
	 AT(struct server_cli_options, client_ca), NULL},
	{"tls-require-client", 0, OPT_FLAG, NULL, "refuse clients without a certificate",
	 AT(struct server_cli_options, require_client), NULL},
	{"allowed-host", 0, OPT_LIST, "NAME",
	 "also accept NAME as Host, besides addresses and localhost; can be repeated; * = any name",
	 AT(struct server_cli_options, allowed_hosts), NULL},
	{"cors", 0, OPT_TEXT, "ORIGIN", "allow web pages of ORIGIN",
	 AT(struct server_cli_options, cors), NULL},
	{"log-level", 0, OPT_CHOICE, "LEVEL", "what to log (info)",
	 AT(struct server_cli_options, log_level), "debug info warn error off"},
	{"log-format", 0, OPT_CHOICE, "FORMAT", "how to log (logfmt)",
	 AT(struct server_cli_options, log_style), "logfmt json"},
	{0},
};

static const struct option_group groups[] = {
	{"Options", table, 0},
	{"Keeping", keep_table, 0},
	{"Trust", trust_table, 0},
	{"Common options", common_table, 0},
	{0},
};

static const struct example examples[] = {
	{"vestal server", "on 127.0.0.1:4040, data in ./vestal-data"},
	{"vestal server --data /var/lib/vestal --retention 30d --max-size 50G", "keep more"},
	{"vestal token create --data /var/lib/vestal && vestal server --listen 0.0.0.0:4040 "
	 "--data /var/lib/vestal",
	 "for other hosts, with a token"},
	{"vestal server --memory-limit 512M", "with at most 512 MiB of memory"},
	{"vestal server --config /etc/vestal/vestal.yaml", "settings and targets from a file"},
	{0},
};

/* Defaults for "not given": SIZE_MAX, because 0 is a valid value; NULL for strings. */
static void set_defaults(void *options)
{
	struct server_cli_options *o = options;

	o->max_size = o->tenant_max_size = o->max_body = o->max_in_flight = SIZE_MAX;
	o->memory_limit = o->min_upload_rate = SIZE_MAX;
}

static void take_text(const char **to, const char *given)
{
	if (given)
		*to = given;
}

static void take_size(size_t *to, size_t given)
{
	if (given != SIZE_MAX)
		*to = given;
}

static enum err take_time(int64_t *to, const char *given, struct fault *fault)
{
	return given ? duration_parse(str_of(given), to, fault) : ERR_OK;
}

/* NAME=TIME of --service-retention. */
static enum err take_overrides(struct server_settings *s, const struct text_list *texts,
			       struct fault *fault)
{
	for (size_t i = 0; i < texts->n; i++) {
		struct str text = str_of(texts->v[i]);
		size_t equals = str_rfind(text, '=');
		int64_t ns;

		if (equals == text.n)
			return fault_set(fault, ERR_BAD_ARGUMENT,
					 "--service-retention %s is not NAME=TIME", texts->v[i]);
		TRY(duration_parse(str_skip(text, equals + 1), &ns, fault));
		TRY(settings_add_override(s, str_n(text.p, equals), ns, fault));
	}
	return ERR_OK;
}

/* NAME=SIZE of --tenant-size. */
static enum err take_tenant_sizes(struct server_settings *s, const struct text_list *texts,
				  struct fault *fault)
{
	for (size_t i = 0; i < texts->n; i++) {
		struct str text = str_of(texts->v[i]);
		size_t equals = str_rfind(text, '=');
		size_t size;

		if (equals == text.n || !tenant_valid(str_n(text.p, equals)) ||
		    size_parse(str_skip(text, equals + 1), &size))
			return fault_set(fault, ERR_BAD_ARGUMENT,
					 "--tenant-size %s is not NAME=SIZE, such as acme=10GB",
					 texts->v[i]);
		TRY(settings_add_tenant_size(s, str_n(text.p, equals), size, fault));
	}
	return ERR_OK;
}

/* The command line takes precedence over the file. */
static enum err take_options(struct server_settings *s, const struct server_cli_options *o,
			     struct fault *fault)
{
	take_text(&s->data, o->data);
	take_text(&s->listen, o->listen);
	take_text(&s->otlp_grpc, o->otlp_grpc);
	take_text(&s->otlp_http, o->otlp_http);
	take_text(&s->tokens, o->tokens);
	take_text(&s->cors, o->cors);
	take_text(&s->tls.certificate, o->certificate);
	take_text(&s->tls.key, o->key);
	take_text(&s->tls.client_ca, o->client_ca);
	take_text(&s->debuginfod.urls, o->debuginfod);
	take_text(&s->log_level, o->log_level);
	take_text(&s->log_format, o->log_style);
	take_size(&s->max_size, o->max_size);
	take_size(&s->tenant_max_size, o->tenant_max_size);
	take_size(&s->limits.max_body, o->max_body);
	take_size(&s->limits.max_in_flight, o->max_in_flight);
	take_size(&s->memory_limit, o->memory_limit);
	take_size(&s->limits.min_upload_rate, o->min_upload_rate);
	s->insecure |= o->insecure;
	s->trust_tenant_header |= o->trust_tenant_header;
	s->self_profile |= o->self_profile;
	s->tls.require_client |= o->require_client;
	TRY(take_time(&s->query_timeout_ns, o->query_timeout, fault));
	TRY(take_time(&s->retention_ns, o->retention, fault));
	TRY(take_time(&s->max_age_ns, o->max_age, fault));
	return take_time(&s->span_retention_ns, o->span_retention, fault);
}

static enum err settle(struct server_settings *s, const struct server_cli_options *o,
		       struct fault *fault)
{
	settings_init(s);
	s->data = SERVE_DATA;
	s->listen = SERVE_LISTEN;
	s->otlp_grpc = SERVE_OTLP_GRPC;
	s->otlp_http = SERVE_OTLP_HTTP;
	/* Of overrides the first holds: these come before the file's. */
	TRY(take_overrides(s, &o->service_retention, fault));
	TRY(take_tenant_sizes(s, &o->tenant_sizes, fault));
	return o->config ? settings_load(s, o->config, fault) : ERR_OK;
}

static void fill(const struct server_settings *s, const struct server_cli_options *o,
		 struct server_options *ret)
{
	*ret = server_options_default;
	ret->store = store_options_default;
	ret->http = HTTP_OPTIONS_DEFAULT;
	settings_apply(s, ret);
	ret->store.directory = o->memory ? NULL : s->data;
	ret->config_file = o->config;
	ret->source_roots = (const char *const *)o->source_roots.v;
	ret->source_root_count = o->source_roots.n;
	ret->confine = true;
	ret->user = o->user;
	ret->backup_directory = o->backup_dir;
	ret->allowed_hosts = (const char *const *)o->allowed_hosts.v;
	ret->allowed_host_count = o->allowed_hosts.n;
	serve_address(ret, s->listen, "pages and API");
	serve_address(ret, s->otlp_grpc, "OTLP/gRPC");
	serve_address(ret, s->otlp_http, "OTLP/HTTP");
}

static int run(struct invocation *in)
{
	CLEANUP(settings_release) struct server_settings settings = {0};
	const struct server_cli_options *o = in->options;
	struct server_options options;
	struct fault fault = {0};
	enum err error;

	if (in->arguments.n && o->memory)
		return serve_memory_usage(in);
	if (in->arguments.n)
		return complain_usage(in, "%s is not understood", in->arguments.v[0]);
	error = settle(&settings, o, &fault);
	if (error == ERR_OK)
		error = take_options(&settings, o, &fault);
	if (error != ERR_OK)
		return complain(status_of(error), "%s",
				fault.text[0] ? fault.text : err_text(error));
	fill(&settings, o, &options);
	serve_log(settings.log_level, settings.log_format);
	return serve(&o->common, &options, NULL);
}

const struct command command_server = {
	.name = "server",
	.summary = "receive, store and query profiles",
	.arguments = "",
	.examples = examples,
	.description =
		"Receives profiles from all kinds of clients on three addresses, each of which "
		"serves everything: OTLP over gRPC and HTTP, Pyroscope's SDKs, and uploads of any "
		"file format that vestal reads. Acknowledged data is on disk.\n\n"
		"By default it listens on this host only, and it does not start on other addresses "
		"without tokens (vestal token) or --insecure. It needs no privilege: started by "
		"root it becomes the user vestal (60590 if there is none; --user) once its sockets "
		"are bound and its keys are read, and hands the data directory over to that "
		"user.\n\n"
		"A request must name this server in its Host header by an address, localhost, the "
		"machine's own name or one of --allowed-host, so that no web page reaches it by "
		"DNS rebinding; with tokens any name is accepted, unless --allowed-host is given. "
		"Pages of other origins are refused, except for --cors.\n\n"
		"A settings file (--config, docs/config.md) can contain the same options, and the "
		"debug/pprof addresses to scrape. SIGHUP reloads certificates and that list.",
	.groups = groups,
	.options_size = sizeof(struct server_cli_options),
	.defaults = set_defaults,
	.run = run,
};
