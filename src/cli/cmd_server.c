/*
 * vestal server: receive, keep and answer, on one directory.
 */
#include "cli/serve.h"
#include "query/query.h"

struct server_cli_options {
	struct common_options common;
	const char *data, *listen, *otlp_grpc, *otlp_http;
	const char *retention, *span_retention;
	struct text_list service_retention;
	size_t max_size, max_body, max_in_flight;
	bool memory, insecure, trust_tenant_header;
	const char *tokens, *cors;
	const char *certificate, *key, *client_ca;
	bool require_client;
	const char *log_level, *log_style;
};

static const struct option table[] = {
	{"data", 'd', OPT_TEXT, "DIR", "keep everything in DIR (./vestal-data)",
	 AT(struct server_cli_options, data), NULL},
	{"memory", 0, OPT_FLAG, NULL, "keep nothing on disk: all is gone at the end",
	 AT(struct server_cli_options, memory), NULL},
	{"listen", 'l', OPT_TEXT, "ADDRESS", "API and pages (127.0.0.1:4040)",
	 AT(struct server_cli_options, listen), NULL},
	{"otlp-grpc", 0, OPT_TEXT, "ADDRESS", "OTLP over gRPC (127.0.0.1:4317); none = not",
	 AT(struct server_cli_options, otlp_grpc), NULL},
	{"otlp-http", 0, OPT_TEXT, "ADDRESS", "OTLP over HTTP (127.0.0.1:4318); none = not",
	 AT(struct server_cli_options, otlp_http), NULL},
	{0},
};

static const struct option keep_table[] = {
	{"retention", 0, OPT_TEXT, "TIME", "delete profiles older than TIME (14d); 0 = never",
	 AT(struct server_cli_options, retention), NULL},
	{"service-retention", 0, OPT_LIST, "NAME=TIME", "another time for one service",
	 AT(struct server_cli_options, service_retention), NULL},
	{"span-retention", 0, OPT_TEXT, "TIME", "delete spans of traces older than TIME (3d)",
	 AT(struct server_cli_options, span_retention), NULL},
	{"max-size", 0, OPT_SIZE, "SIZE", "delete the oldest data above SIZE on disk",
	 AT(struct server_cli_options, max_size), NULL},
	{"max-body", 0, OPT_SIZE, "SIZE", "refuse uploads above SIZE (64MiB)",
	 AT(struct server_cli_options, max_body), NULL},
	{"max-in-flight", 0, OPT_SIZE, "SIZE", "of all uploads being received (128MiB)",
	 AT(struct server_cli_options, max_in_flight), NULL},
	{0},
};

static const struct option trust_table[] = {
	{"insecure", 0, OPT_FLAG, NULL, "let everybody in, from other hosts too",
	 AT(struct server_cli_options, insecure), NULL},
	{"tokens", 0, OPT_TEXT, "FILE", "tokens (DIR/tokens when it is there)",
	 AT(struct server_cli_options, tokens), NULL},
	{"trust-tenant-header", 0, OPT_FLAG, NULL, "X-Scope-OrgID says whose data it is",
	 AT(struct server_cli_options, trust_tenant_header), NULL},
	{"tls-cert", 0, OPT_TEXT, "FILE", "serve TLS with this certificate (PEM)",
	 AT(struct server_cli_options, certificate), NULL},
	{"tls-key", 0, OPT_TEXT, "FILE", "and this key", AT(struct server_cli_options, key), NULL},
	{"tls-client-ca", 0, OPT_TEXT, "FILE", "verify client certificates with these",
	 AT(struct server_cli_options, client_ca), NULL},
	{"tls-require-client", 0, OPT_FLAG, NULL, "refuse clients without a certificate",
	 AT(struct server_cli_options, require_client), NULL},
	{"cors", 0, OPT_TEXT, "ORIGIN", "let pages of ORIGIN ask",
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
	{0},
};

static void set_defaults(void *options)
{
	struct server_cli_options *o = options;

	o->data = SERVE_DATA;
	o->listen = SERVE_LISTEN;
	o->otlp_grpc = SERVE_OTLP_GRPC;
	o->otlp_http = SERVE_OTLP_HTTP;
	o->retention = "14d";
	o->span_retention = "3d";
	o->max_body = (size_t)64 << 20;
	o->max_in_flight = (size_t)128 << 20;
	o->log_level = "info";
	o->log_style = "logfmt";
}

#define MAX_OVERRIDES 1000

/* NAME=TIME of --service-retention. */
static enum err read_overrides(const struct text_list *texts, struct service_retention *overrides,
			       struct fault *fault)
{
	for (size_t i = 0; i < texts->n; i++) {
		struct str text = str_of(texts->v[i]);
		size_t equals = str_rfind(text, '=');

		if (equals == text.n)
			return fault_set(fault, ERR_BAD_ARGUMENT,
					 "--service-retention %s is not NAME=TIME", texts->v[i]);
		overrides[i].service = str_n(text.p, equals);
		TRY(duration_parse(str_skip(text, equals + 1), &overrides[i].retention_ns, fault));
	}
	return ERR_OK;
}

static enum err fill(const struct server_cli_options *o, struct server_options *s,
		     struct service_retention *overrides, struct fault *fault)
{
	*s = server_options_default;
	s->store = store_options_default;
	s->http = HTTP_OPTIONS_DEFAULT;
	serve_address(s, o->listen, "pages and API");
	serve_address(s, o->otlp_grpc, "OTLP/gRPC");
	serve_address(s, o->otlp_http, "OTLP/HTTP");
	s->store.directory = o->memory ? NULL : o->data;
	s->store.max_size = o->max_size;
	s->http.max_body = o->max_body;
	s->max_in_flight = o->max_in_flight;
	s->insecure = o->insecure;
	s->trust_tenant_header = o->trust_tenant_header;
	s->token_file = o->tokens;
	s->cors_origin = o->cors;
	s->http.tls = (struct tls_options){o->certificate, o->key, o->client_ca, o->require_client};
	TRY(read_overrides(&o->service_retention, overrides, fault));
	s->store.overrides = overrides;
	s->store.override_count = o->service_retention.n;
	TRY(duration_parse(str_of(o->span_retention), &s->store.span_retention_ns, fault));
	return duration_parse(str_of(o->retention), &s->store.retention_ns, fault);
}

static int run(struct invocation *in)
{
	const struct server_cli_options *o = in->options;
	struct service_retention overrides[MAX_OVERRIDES];
	struct server_options options;
	struct fault fault = {0};
	enum err error;

	if (in->arguments.n)
		return complain_usage(in, "%s is not understood", in->arguments.v[0]);
	if (o->service_retention.n > MAX_OVERRIDES)
		return complain_usage(in, "more than %d --service-retention", MAX_OVERRIDES);
	error = fill(o, &options, overrides, &fault);
	if (error != ERR_OK)
		return complain_usage(in, "%s", fault.text);
	serve_log(o->log_level, o->log_style);
	return serve(&o->common, &options);
}

const struct command command_server = {
	.name = "server",
	.summary = "receive, keep and answer: the server",
	.arguments = "",
	.examples = examples,
	.description =
		"Takes profiles of every kind of client on three addresses, each of which serves "
		"everything: OTLP over gRPC and HTTP, Pyroscope's SDKs, and uploads of any file "
		"vestal reads. What was acknowledged is on disk.\n\n"
		"It listens on this host alone unless told otherwise, and does not start on other "
		"addresses without tokens (vestal token) or --insecure. SIGHUP loads certificates "
		"again. It needs no privilege.",
	.groups = groups,
	.options_size = sizeof(struct server_cli_options),
	.defaults = set_defaults,
	.run = run,
};
